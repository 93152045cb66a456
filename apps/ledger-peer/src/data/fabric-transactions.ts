import { readChannelTransaction, type ChannelMap, type FabricClient } from '@sealgate/ledger-fabric';
import type { ReadTransactionPorts } from '../domain/read-transaction.ts';
import { reached } from './fabric-assets.ts';

/** Finds a transaction by its id in the Fabric channel that stores one of ours. */
export function transactionFinder(
  client: FabricClient,
  channels: ChannelMap,
): NonNullable<ReadTransactionPorts['findTransaction']> {
  return async (channel, { transactionId, identity }) => {
    const { fabricChannel, prefix } = channels.of(channel);
    const place = { channel: fabricChannel, identity };
    const found = await reached(readChannelTransaction(client, place, transactionId));
    return found === undefined ? undefined : { ...found, endorsers: [...found.endorsers], prefix };
  };
}
