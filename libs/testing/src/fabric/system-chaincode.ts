import { common, peer } from '@hyperledger/fabric-protos';
import type { Execution } from './chaincode-process.ts';
import type { ChannelLedger } from './channel-ledger.ts';
import type { ParsedProposal } from './signed-request.ts';

/** The system chaincode of queries: every peer has it, on every channel, and nobody defines it. */
export const QUERY_CHAINCODE = 'qscc';

/** Answers GetChainInfo with the height; what else a real one answers is refused. */
export function querySystem(ledger: ChannelLedger, { input }: ParsedProposal): Execution {
  const [asked] = peer.ChaincodeInput.deserializeBinary(input).getArgsList_asU8();
  const name = Buffer.from(asked ?? []).toString('utf8');
  if (name !== 'GetChainInfo') {
    return {
      status: 500,
      message: `Requested function ${name} not found.`,
      payload: new Uint8Array(),
      event: undefined,
    };
  }
  const info = new common.BlockchainInfo();
  info.setHeight(ledger.height);
  return { status: 200, message: '', payload: info.serializeBinary(), event: undefined };
}
