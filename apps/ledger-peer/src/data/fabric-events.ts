import {
  FabricError,
  type BlockReader,
  type BlockTransaction,
  type ChannelBlock,
  type ChannelMap,
  type FabricClient,
} from '@sealgate/ledger-fabric';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { END_OF_BLOCK, type EventPosition } from '../domain/event-cursor.ts';
import type { EventSource } from '../domain/event-source.ts';
import type { SourceEvent } from '../domain/ledger-event.ts';
import type { Mappings, Target } from '../domain/mapping.ts';
import { recordOfKey } from '../domain/record-key.ts';
import { assetsOfCall } from './called-assets.ts';
import { isJson } from './contract-texts.ts';

interface FabricEventsOptions {
  readonly client: Pick<FabricClient, 'blocks'>;
  readonly channels: ChannelMap;
  readonly mappings: Mappings;
}

/** The blocks of Fabric as events: of each transaction its commit, and then what its contract emitted. */
export function fabricEvents({ client, channels, mappings }: FabricEventsOptions): EventSource {
  const blocksOf = (channel: string): BlockReader => client.blocks(channels.of(channel).fabricChannel);
  const newestBlock = (channel: string): number => blocksOf(channel).newest ?? -1;
  return {
    newest: async (channel) => ({ block: await reached(blocksOf(channel).askNewest()), index: END_OF_BLOCK }),
    async read(channel, after, signal) {
      const { prefix } = channels.of(channel);
      const view = { channel, prefix, mappings, targets: mappings.targets.filter((one) => one.channel === channel) };
      const from = after.block < 0 ? await reached(blocksOf(channel).askFirst()) : nextBlock(after);
      const blocks = await reached(blocksOf(channel).read(from, signal));
      const last = blocks.at(-1);
      if (last === undefined) return { events: [], position: after };
      const events = blocks
        .flatMap((block) => eventsOf(block, view))
        .filter(({ position }) => isAfter(position, after));
      return { events, position: { block: last.number, index: END_OF_BLOCK } };
    },
    arrival: (channel, after, signal) => blocksOf(channel).reached(nextBlock(after), signal),
    follow: (channel) => blocksOf(channel).follow(),
    behind: (channel, after) => Math.max(0, newestBlock(channel) - nextBlock(after) + 1),
    // A peer may be behind the one that a cursor is from: then there is nothing to read yet.
    reaches: () => true,
  };
}

/** A block in the middle of which a reader stopped is read again. */
const nextBlock = ({ block, index }: EventPosition): number =>
  index === END_OF_BLOCK ? block + 1 : Math.max(block, 0);

const isAfter = (position: EventPosition, after: EventPosition): boolean =>
  position.block > after.block || (position.block === after.block && position.index > after.index);

export async function reached<Value>(asked: Promise<Value>): Promise<Value> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof FabricError)) throw error;
    throw new LedgerUnavailableError('The ledger cannot be reached.', { cause: error });
  }
}

/** How one of our channels sees the blocks of its Fabric channel. */
export interface ChannelView {
  readonly channel: string;
  /** Of ids and types in our own contract. */
  readonly prefix: string;
  readonly mappings: Mappings;
  readonly targets: readonly Target[];
}

/** In the order of the block. */
export function eventsOf({ number, transactions }: ChannelBlock, view: ChannelView): SourceEvent[] {
  return transactions.flatMap((transaction) => {
    const mapped = view.targets.filter(({ chaincode }) => chaincode === transaction.chaincode);
    const { assets, chaincode } = assetsOf(transaction, mapped, view);
    if (mapped.length === 0 && assets?.length === 0) return [];
    const { place, transactionId, code, at, event } = transaction;
    const common = { blockNumber: number, transactionId, chaincode, code, at, assets };
    const commit: SourceEvent = { ...common, kind: 'commit', position: { block: number, index: 2 * place } };
    // An invalid transaction had no effect, so its contract has said nothing.
    if (event === undefined || code !== 'VALID' || mapped.length === 0) return [commit];
    const position = { block: number, index: 2 * place + 1 };
    const payload = event.payload.length === 0 ? {} : { payload: payloadText(event.payload) };
    return [commit, { ...common, kind: 'contract', position, name: event.name, ...payload }];
  });
}

function assetsOf(
  { chaincode, call, writes }: BlockTransaction,
  mapped: readonly Target[],
  view: ChannelView,
): Pick<SourceEvent, 'assets' | 'chaincode'> {
  const ours = writes.flatMap((write) => {
    const isMapped = view.targets.some((one) => one.chaincode === write.chaincode && one.shape.kind === 'records');
    const record = isMapped && !write.isDelete ? recordOfKey(write.key, view.prefix) : undefined;
    const isServed = record !== undefined && view.mappings.serves(record.type, { ...write, channel: view.channel });
    return isServed ? [{ ...record, by: write.chaincode }] : [];
  });
  const isForeign = mapped.some(({ shape }) => shape.kind === 'positional');
  const called = isForeign ? assetsOfCall(view.mappings, { channel: view.channel, chaincode }, call) : [];
  // A contract that is not mapped may have called one that is.
  const shown = mapped.length === 0 ? (ours[0]?.by ?? chaincode) : chaincode;
  if (called === undefined) return { chaincode: shown, assets: undefined };
  return { chaincode: shown, assets: [...called, ...ours.map(({ id, type }) => ({ id, type }))] };
}

/** JSON without line breaks, which are white space there. */
function payloadText(payload: Buffer): string {
  const text = payload.toString('utf8');
  const isText = Buffer.from(text).equals(payload);
  return isText && isJson(text) ? text.replaceAll(/[\r\n]/g, ' ') : JSON.stringify(payload.toString('base64'));
}
