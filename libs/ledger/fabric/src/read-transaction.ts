import { common } from '@hyperledger/fabric-protos';
import type { ContractCall, FabricClient } from './fabric-client.ts';
import { ContractRefusedError, UnavailableError } from './fabric-errors.ts';
import { contractEntry, type BlockEntry } from './whole-block.ts';

/** A transaction of a contract, as a peer has it in a block. */
export interface ChannelTransaction extends Omit<BlockEntry, 'place' | 'kind'> {
  readonly blockNumber: number;
}

/** What a peer says of an id that is in no block (2.5, and before). */
const NO_SUCH = /no such transaction ID|entry not found in index/i;

/**
 * Finds a transaction of a chaincode by its id. Undefined: the channel has none; others (of the configuration) are not
 * found either. The peer sends the whole block.
 *
 * @throws as `FabricClient.evaluate`, without ContractRefusedError
 */
export async function readChannelTransaction(
  client: Pick<FabricClient, 'evaluate'>,
  { channel, identity }: Pick<ContractCall, 'channel' | 'identity'>,
  transactionId: string,
): Promise<ChannelTransaction | undefined> {
  const call = { channel, chaincode: 'qscc', transaction: 'GetBlockByTxID', args: [channel, transactionId], identity };
  let answer: Buffer;
  try {
    answer = await client.evaluate(call, { mayBeOutdated: (said) => said instanceof ContractRefusedError });
  } catch (error) {
    if (!(error instanceof ContractRefusedError)) throw error;
    if (NO_SUCH.test(error.message)) return undefined;
    throw new UnavailableError('The peer could not look the transaction up.', { cause: error, reason: 'call_refused' });
  }
  const block = common.Block.deserializeBinary(answer);
  const found = contractEntry(block, transactionId);
  if (found === undefined) return undefined;
  const { place: _place, kind: _kind, ...transaction } = found;
  return { blockNumber: block.getHeader()!.getNumber(), ...transaction };
}
