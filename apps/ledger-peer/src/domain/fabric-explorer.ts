import { AppError } from '@sealgate/errors';
import { enumOf, named, orNull } from '@sealgate/schemas';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { Type, type Static } from '@sinclair/typebox';
import type { Mappings } from './mapping.ts';
import { asked } from './read-assets.ts';
import { recordOfKey } from './record-key.ts';
import { ChannelTransaction, type ReadTransactionPorts, TransactionCreator } from './read-transaction.ts';

const Text = Type.String();
const Time = orNull(Text, { description: 'RFC 3339, as the submitter chose it; null if there is none.' });
const Name = Type.String({ description: '`<networkId>.<name>`' });

/** A channel of Fabric that stores one of ours. */
export const FabricChannel = named(
  'FabricChannel',
  Type.Object({
    channel: Name,
    fabricChannel: Type.String({ description: "Fabric's name." }),
    chaincodes: Type.Array(Text, { description: 'Those that mappings name.' }),
    newestBlock: orNull(Type.Integer(), { description: 'null if no peer answers.' }),
    firstBlock: orNull(Type.Integer(), {
      description: 'The first block that a peer has which answers: not 0 if peers began from a snapshot.',
    }),
  }),
);
export type FabricChannel = Static<typeof FabricChannel>;

export const FabricBlock = named(
  'FabricBlock',
  Type.Object({
    number: Type.Integer(),
    at: orNull(Text, { description: 'The newest time of its transactions, RFC 3339; submitters choose them.' }),
    transactions: Type.Integer({ description: 'Of contracts.' }),
    valid: Type.Integer({ description: 'Those of them that have an effect.' }),
    configurations: Type.Integer({ description: 'Of the channel.' }),
    bytes: Type.Integer({ description: 'Size of all of them.' }),
    hash: Type.String({ description: 'SHA-256 of its header, by which the next block names it; lower hex.' }),
    previousHash: Type.String({ description: 'Empty in the first block of a channel.' }),
  }),
);
export type FabricBlock = Static<typeof FabricBlock>;

const FabricBlockEntry = named(
  'FabricBlockEntry',
  Type.Object({
    place: Type.Integer(),
    kind: enumOf('FabricBlockEntryKind', ['contract', 'configuration', 'other']),
    transactionId: Type.String({ description: 'Empty if it has none.' }),
    code: Type.String({ description: "Fabric's name of the validation code: `VALID`, or why it has no effect." }),
    at: Time,
    creator: TransactionCreator,
    endorsers: Type.Array(Text, { description: 'MSP ids of the peers that endorsed it.' }),
    chaincode: Type.String({ description: 'Empty unless it is of a contract.' }),
    function: Text,
    keysWritten: Type.Integer({ description: 'How many keys it writes.' }),
  }),
);

export const FabricBlockContent = named(
  'FabricBlockContent',
  Type.Object({
    channel: Name,
    block: FabricBlock,
    dataHash: Text,
    entries: Type.Array(FabricBlockEntry, { description: 'At most the first 2000.' }),
  }),
);
export type FabricBlockContent = Static<typeof FabricBlockContent>;

const WrittenKey = named(
  'WrittenKey',
  Type.Object({
    chaincode: Text,
    key: Text,
    isDelete: Type.Boolean(),
    record: Type.Optional(
      Type.Object({ id: Text, type: Text }, { description: 'The record of our contract that is written under it.' }),
    ),
  }),
);

/** A transaction with every key that it writes, whoever it belongs to. */
export const FabricTransaction = named(
  'FabricTransaction',
  Type.Composite([
    Type.Omit(ChannelTransaction, ['keysWritten']),
    Type.Object({
      at: Time,
      writes: Type.Array(WrittenKey, {
        description: 'Keys of the world state. Those of private collections are not in blocks.',
      }),
    }),
  ]),
);
export type FabricTransaction = Static<typeof FabricTransaction>;

/** An entry of a block. */
type Entry = Omit<Static<typeof FabricBlockEntry>, 'at' | 'keysWritten' | 'endorsers'> & {
  readonly at: string | undefined;
  readonly endorsers: readonly string[];
  readonly writes: { readonly length: number };
};

interface Block extends Pick<FabricBlock, 'number' | 'bytes' | 'hash' | 'previousHash'> {
  readonly dataHash: string;
  readonly entries: readonly Entry[];
}

/** The blocks of a Fabric network. Its calls end within seconds, and reject with LedgerUnavailableError. */
export interface FabricBlocks {
  /** Fabric's name of a channel of ours. */
  nameOf(channel: string): string;
  /** The numbers of the first and the newest block that a peer has which answers. */
  ends(channel: string): Promise<{ readonly first: number; readonly newest: number }>;
  /** Some blocks from one on, in order without a gap, one at least and none above `upTo`, which a peer has. */
  read(
    channel: string,
    range: { readonly from: number; readonly upTo: number },
    signal: AbortSignal,
  ): Promise<readonly Block[]>;
}

export interface FabricExplorerPorts {
  readonly blocks: FabricBlocks;
  readonly findTransaction: NonNullable<ReadTransactionPorts['findTransaction']>;
  readonly mappings: Mappings;
  readonly now: () => number;
}

/** At most `limit` mapped channels by name, after one. */
export async function listChannels(
  { blocks, mappings }: FabricExplorerPorts,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<FabricChannel[]> {
  const names = channelsOf(mappings).sort();
  const page = names.filter((channel) => channel > after).slice(0, limit);
  const rows = page.map(async (channel) => {
    const ends = await blocks.ends(channel).catch(undefinedIfAway);
    const of = mappings.targets.filter((target) => target.channel === channel);
    return {
      channel,
      fabricChannel: blocks.nameOf(channel),
      chaincodes: [...new Set(of.map(({ chaincode }) => chaincode))].sort(),
      newestBlock: ends?.newest ?? null,
      firstBlock: ends?.first ?? null,
    };
  });
  return Promise.all(rows);
}

function undefinedIfAway(error: unknown): undefined {
  if (error instanceof LedgerUnavailableError) return undefined;
  throw error;
}

const AT_ONCE = 10;
const PAGE_MAX_BYTES = 16 * 1024 * 1024;
const PAGE_WITHIN_MS = 5000;

/**
 * Blocks of a channel, newest first, below a number: `limit` of them, or fewer if they are large. `next` is undefined on
 * the last page.
 * @throws AppError NOT_FOUND, LEDGER_UNAVAILABLE
 */
export async function listBlocks(
  ports: FabricExplorerPorts,
  { channel, below, limit }: { readonly channel: string; readonly below: number | undefined; readonly limit: number },
  signal: AbortSignal,
): Promise<{ readonly items: FabricBlock[]; readonly next: number | undefined }> {
  const { blocks, now } = ports;
  checkChannel(ports, channel);
  const { first, newest } = await asked(blocks.ends(channel));
  const endAtMs = now() + PAGE_WITHIN_MS;
  const items: FabricBlock[] = [];
  let bytes = 0;
  let next = Math.min(below ?? newest + 1, newest + 1);
  while (next > first && items.length < limit && bytes < PAGE_MAX_BYTES && now() < endAtMs) {
    const from = Math.max(first, next - Math.min(AT_ONCE, limit - items.length));
    const read = await readRange(blocks, channel, { from, upTo: next - 1 }, signal);
    bytes += read.reduce((sum, block) => sum + block.bytes, 0);
    items.push(...read.map(summaryOf).reverse());
    next = from;
  }
  return { items, next: next > first ? next : undefined };
}

/** All of these blocks. */
async function readRange(
  blocks: FabricBlocks,
  channel: string,
  { from, upTo }: { readonly from: number; readonly upTo: number },
  signal: AbortSignal,
): Promise<Block[]> {
  const found: Block[] = [];
  while (from + found.length <= upTo) {
    const read = await asked(blocks.read(channel, { from: from + found.length, upTo }, signal));
    if (read.length === 0)
      throw new AppError('LEDGER_UNAVAILABLE', 'The ledger cannot be reached.', { retryAfterSeconds: 1 });
    found.push(...read);
  }
  return found;
}

const MOST_ENTRIES = 2000;

/** @throws AppError NOT_FOUND, LEDGER_UNAVAILABLE */
export async function readBlock(
  ports: FabricExplorerPorts,
  { channel, number }: { readonly channel: string; readonly number: number },
  signal: AbortSignal,
): Promise<FabricBlockContent> {
  checkChannel(ports, channel);
  const { first, newest } = await asked(ports.blocks.ends(channel));
  if (number > newest) throw new AppError('NOT_FOUND', `The newest block of the channel is ${newest}.`);
  if (number < first)
    throw new AppError('NOT_FOUND', `The peers that answer began from a snapshot: their first block is ${first}.`);
  const [block] = await readRange(ports.blocks, channel, { from: number, upTo: number }, signal);
  const entries = block!.entries.slice(0, MOST_ENTRIES).map(({ writes, at, endorsers, ...entry }) => ({
    ...entry,
    at: at ?? null,
    endorsers: [...endorsers],
    keysWritten: writes.length,
  }));
  return { channel, block: summaryOf(block!), dataHash: block!.dataHash, entries };
}

const TRANSACTION_ID = /^[0-9a-f]{64}$/;

/** A transaction of a contract in a mapped channel. @throws AppError NOT_FOUND, LEDGER_UNAVAILABLE */
export async function findTransaction(
  { findTransaction: find, mappings }: FabricExplorerPorts,
  transactionId: string,
): Promise<FabricTransaction> {
  let other: FabricTransaction | undefined;
  for (const channel of TRANSACTION_ID.test(transactionId) ? channelsOf(mappings) : []) {
    const found = await asked(find(channel, { transactionId, identity: undefined }));
    if (found === undefined) continue;
    const { prefix, at, writes: keys, ...transaction } = found;
    const isOurs = (chaincode: string): boolean =>
      mappings.of({ channel, chaincode }).some(({ target }) => target.shape.kind === 'records');
    const writes = keys.map((write) => {
      const record = isOurs(write.chaincode) ? recordOfKey(write.key, prefix) : undefined;
      return record === undefined ? write : { ...write, record };
    });
    const shown = { ...transaction, channel, at: at ?? null, writes };
    // Several channels may share one of Fabric: the records say whose it is.
    if (prefix === '' || writes.some((write) => 'record' in write)) return shown;
    other ??= shown;
  }
  if (other !== undefined) return other;
  throw new AppError('NOT_FOUND', 'No mapped channel has such a transaction of a contract.');
}

const channelsOf = (mappings: Mappings): string[] => [...new Set(mappings.targets.map(({ channel }) => channel))];

/** @throws AppError NOT_FOUND */
function checkChannel({ mappings }: FabricExplorerPorts, channel: string): void {
  if (!channelsOf(mappings).includes(channel)) throw new AppError('NOT_FOUND', 'No mapping leads to this channel.');
}

function summaryOf({ number, bytes, hash, previousHash, entries }: Block): FabricBlock {
  const transactions = entries.filter(({ kind }) => kind === 'contract');
  return {
    number,
    at:
      entries
        .flatMap(({ at }) => at ?? [])
        .sort()
        .at(-1) ?? null,
    transactions: transactions.length,
    valid: transactions.filter(({ code }) => code === 'VALID').length,
    configurations: entries.filter(({ kind }) => kind === 'configuration').length,
    ...{ bytes, hash, previousHash },
  };
}
