/**
 * Makes a chaincode of contracts. The package's only public way to start contracts is its own command, which looks for
 * them in the working directory and reads settings from the command line; this class is what that command uses.
 */
declare module 'fabric-shim/lib/contract-spi/chaincodefromcontract.js' {
  import type { Contract } from 'fabric-contract-api';
  import type { ChaincodeInterface } from 'fabric-shim';

  interface Serializers {
    readonly transaction: string;
    readonly serializers: Readonly<Record<string, new () => unknown>>;
  }

  /** `module.exports` of the file; ES modules import it as the default export. */
  const ChaincodeFromContract: new (
    contracts: (new () => Contract)[],
    serializers: Serializers,
    metadata: object,
    title: string,
    version: string,
  ) => ChaincodeInterface;
  export { ChaincodeFromContract as default };
}
