import { common, peer } from '@hyperledger/fabric-protos';
import type { Execution } from './chaincode-process.ts';
import type { ChannelLedger } from './channel-ledger.ts';
import { validationPolicy } from './channel-config.ts';
import type { PeerParts } from './peer-parts.ts';
import type { ParsedProposal } from './signed-request.ts';

/** Of a query: what it returns, or why it is refused. */
type Answer = Uint8Array | { readonly refused: string };
type Query = (ledger: ChannelLedger, args: readonly string[], parts: PeerParts) => Answer;

/** Those present on every peer and channel without a definition, by name and function. The first argument is a channel. */
const SYSTEM_CHAINCODES: Readonly<Record<string, Readonly<Record<string, Query>>>> = {
  qscc: {
    GetChainInfo: (ledger, _args, parts) => {
      const info = new common.BlockchainInfo();
      info.setHeight(parts.heightOf(ledger));
      const { firstBlock } = parts.snapshot;
      if (firstBlock > 0) {
        const snapshot = new common.BootstrappingSnapshotInfo();
        snapshot.setLastblockinsnapshot(firstBlock - 1);
        info.setBootstrappingsnapshotinfo(snapshot);
      }
      return info.serializeBinary();
    },
    GetTransactionByID: (ledger, [, transactionId = ''], parts) => {
      const found =
        knownBlock(ledger, transactionId, parts) === undefined ? undefined : ledger.processed(transactionId);
      if (found === undefined) {
        return { refused: `Failed to get transaction with id ${transactionId}, error ${noSuch(transactionId)}` };
      }
      const processed = new peer.ProcessedTransaction();
      processed.setTransactionenvelope(common.Envelope.deserializeBinary(found.envelope));
      processed.setValidationcode(found.code);
      return processed.serializeBinary();
    },
    GetBlockByTxID: (ledger, [, transactionId = ''], parts) => {
      const block = knownBlock(ledger, transactionId, parts);
      const refused = `Failed to get block for txID ${transactionId}, error ${noSuch(transactionId)}`;
      return block?.serializeBinary() ?? { refused };
    },
  },
  cscc: { GetConfigBlock: (ledger) => ledger.block(0)!.serializeBinary() },
  _lifecycle: {
    QueryChaincodeDefinition: (ledger, [request = ''], parts) => {
      const args = peer.lifecycle.QueryChaincodeDefinitionArgs.deserializeBinary(Buffer.from(request, 'latin1'));
      if (!parts.isDefined(args.getName(), ledger.name)) {
        return {
          refused: `failed to invoke backing implementation of 'QueryChaincodeDefinition': namespace ${args.getName()} is not defined`,
        };
      }
      const result = new peer.lifecycle.QueryChaincodeDefinitionResult();
      result.setSequence(1);
      result.setVersion('1.0');
      result.setEndorsementPlugin('escc');
      result.setValidationPlugin('vscc');
      result.setValidationParameter(validationPolicy(parts.mspId));
      return result.serializeBinary();
    },
  },
};

export const isSystemChaincode = (name: string): boolean => Object.hasOwn(SYSTEM_CHAINCODES, name);

const noSuch = (transactionId: string): string => `no such transaction ID [${transactionId}] in index`;

/** The block of a transaction, if this peer has committed it. */
function knownBlock(ledger: ChannelLedger, transactionId: string, { heightOf }: PeerParts) {
  const number = Number(ledger.find(transactionId)?.blockNumber ?? -1);
  return number < 0 || number >= heightOf(ledger) ? undefined : ledger.block(number);
}

/** Runs a query of a system chaincode. */
export function systemExecution(parts: PeerParts, { channel, chaincode, input }: ParsedProposal): Execution {
  const [name = '', ...args] = peer.ChaincodeInput.deserializeBinary(input)
    .getArgsList_asU8()
    .map((arg) => Buffer.from(arg).toString('latin1'));
  const query = SYSTEM_CHAINCODES[chaincode]?.[name];
  const answer = query?.(parts.ledgers.get(channel)!, args, parts) ?? {
    refused: `Requested function ${name} not found.`,
  };
  if ('refused' in answer) return { status: 500, message: answer.refused, payload: new Uint8Array(), event: undefined };
  return { status: 200, message: '', payload: answer, event: undefined };
}
