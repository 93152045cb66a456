import type { ChannelMap, FabricClient } from '@sealgate/ledger-fabric';
import type { FabricBlocks } from '../domain/fabric-explorer.ts';
import { reached } from './fabric-events.ts';

/** The blocks of the Fabric channels that store ours. */
export function fabricBlocks(client: Pick<FabricClient, 'blocks'>, channels: ChannelMap): FabricBlocks {
  const nameOf = (channel: string): string => channels.of(channel).fabricChannel;
  return {
    nameOf,
    async ends(channel) {
      const blocks = client.blocks(nameOf(channel));
      const [first, newest] = await reached(Promise.all([blocks.askFirst(), blocks.askNewest()]));
      return { first, newest };
    },
    read: (channel, { from, upTo }, signal) => reached(client.blocks(nameOf(channel)).readWhole(from, upTo, signal)),
  };
}
