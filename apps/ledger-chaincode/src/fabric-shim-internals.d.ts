/**
 * What makes chaincode of contracts. The package starts contracts by its own command alone, which looks for them in the
 * folder it is run in and reads settings from the command line; this class is what that command uses.
 */
declare module 'fabric-shim/lib/contract-spi/chaincodefromcontract.js' {
  import type { Contract } from 'fabric-contract-api';
  import type { ChaincodeInterface } from 'fabric-shim';

  interface Serializers {
    readonly transaction: string;
    readonly serializers: Readonly<Record<string, new () => unknown>>;
  }

  /** `module.exports` of the file, which ES modules meet as the default export. */
  const ChaincodeFromContract: new (
    contracts: (new () => Contract)[],
    serializers: Serializers,
    metadata: object,
    title: string,
    version: string,
  ) => ChaincodeInterface;
  export { ChaincodeFromContract as default };
}
