import { logName, type RecordProof } from '@sealgate/envelope';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { HASH_BYTES, TILE_WIDTH, tileWidth } from '@sealgate/merkle';
import { int8Array } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';
import type { Place } from './epochs.ts';
import { readSize } from './explore-ledger.ts';
import {
  findPublished,
  provedDeclaration,
  provedPath,
  unavailableIfCorrupt,
  type ProveOptions,
} from './prove-record.ts';
import { SharedReads } from './shared-reads.ts';
import { tileReader } from './tile-store.ts';

/** Exactly one record, or the entry at a place of one log. */
export type EntryWanted = { readonly id: string } | { readonly leafHash: Buffer } | { readonly place: Place };

/** An entry as everybody may see it: that it is there, where, and when it was written. */
export interface ProvedEntry {
  /** Undefined if only the archive knows. */
  readonly at: string | undefined;
  readonly proof: RecordProof;
}

/** How many records a channel had at a time. */
export interface GrowthPoint {
  readonly size: number;
  readonly at: string;
}

/** What outsiders find in a log. Every method rejects with LedgerUnavailableError or LedgerForbiddenError. */
export interface LogSearch {
  /** Undefined if there is none, or no published checkpoint covers it yet. */
  entry(channel: string, wanted: EntryWanted): Promise<ProvedEntry | undefined>;
  /** Oldest first: a bounded number of records at equal distances, the first and the last among them. */
  growth(channel: string): Promise<readonly GrowthPoint[]>;
}

/** Leaves that are indexed within the time limit of a statement, also by a busy server. */
const INDEX_AT_ONCE = 16_384;
const INDEX_WITHIN_MS = 1500;
const GROWTH_STEPS = 48;

export function logSearch(options: ProveOptions): LogSearch {
  const { now } = options;
  const leaves = new SharedReads({ now, pauseMs: 0, read: (log) => indexLeaves(options, log) });
  const growth = new SharedReads({ now, read: (channel) => readGrowth(options, channel) });
  return {
    async entry(channel, wanted) {
      try {
        await options.epochs.fresh();
        const place = await placeOf({ ...options, leaves }, channel, wanted);
        return place === undefined ? undefined : await proveEntry(options, channel, place);
      } catch (error) {
        throw unavailableIfCorrupt(error);
      }
    },
    growth: (channel) => growth.recent(channel),
  };
}

async function placeOf(
  { sql, deadlineMs, epochs, leaves }: ProveOptions & { readonly leaves: SharedReads<void> },
  channel: string,
  wanted: EntryWanted,
): Promise<Place | undefined> {
  if ('place' in wanted) return wanted.place;
  if ('id' in wanted) {
    const text = 'SELECT ledger.id_place($1, $2) AS idx';
    const statement = { name: 'ledger id place', text, values: [channel, wanted.id] };
    const [row] = await readLedger<{ idx: string | null }>(sql, statement, deadlineMs);
    return row?.idx == null ? undefined : epochs.place(channel, Number(row.idx));
  }
  const newestFirst = [...epochs.of(channel).map(({ epoch }) => epoch), 0].toSorted((one, other) => other - one);
  for (const epoch of newestFirst) {
    const log = logName(channel, epoch);
    await leaves.recent(log);
    const text = 'SELECT ledger.leaf_place($1, $2) AS leaf';
    const statement = { name: 'ledger leaf place', text, values: [log, wanted.leafHash] };
    const [row] = await readLedger<{ leaf: string | null }>(sql, statement, deadlineMs);
    if (row?.leaf != null) return { index: Number(row.leaf), ...(epoch > 0 && { epoch }) };
  }
  return undefined;
}

async function proveEntry(
  options: ProveOptions,
  channel: string,
  { index, epoch = 0 }: Place,
): Promise<ProvedEntry | undefined> {
  const { sql, deadlineMs, epochs } = options;
  if (epoch > 0 && !epochs.of(channel).some((one) => one.epoch === epoch)) return undefined;
  const log = logName(channel, epoch);
  const covering = await findPublished(options, log);
  if (covering === undefined || covering.checkpoint.size <= index) return undefined;
  const { size } = covering.checkpoint;
  const tile = Math.floor(index / TILE_WIDTH);
  const [hashes] = await tileReader(sql, log, deadlineMs)([{ level: 0, index: tile, width: tileWidth(0, tile, size) }]);
  const from = (index % TILE_WIDTH) * HASH_BYTES;
  const leafHash = hashes!.subarray(from, from + HASH_BYTES);
  const inclusionPath = await provedPath(options, log, { leafHash, index, covering, leaves: hashes! });
  const proof = {
    channel,
    index,
    leafHash: leafHash.toString('hex'),
    treeSize: size,
    inclusionPath,
    checkpoint: covering.note,
  };
  if (epoch === 0) return { at: await timeAt(options, channel, index), proof };
  const declaration = await provedDeclaration(options, log, covering);
  const position = epochs.position(channel, { index, epoch });
  const at = index === 0 ? declaration.statement.at : await timeAt(options, channel, position);
  return { at, proof: { ...proof, epoch, origin: covering.checkpoint.origin, declaration } };
}

async function timeAt(options: ProveOptions, channel: string, position: number): Promise<string | undefined> {
  return (await readTimes(options, channel, [position])).find(({ size }) => size === position + 1)?.at;
}

async function readTimes(
  { sql, deadlineMs }: ProveOptions,
  channel: string,
  positions: readonly number[],
): Promise<GrowthPoint[]> {
  const text = 'SELECT DISTINCT idx, at_ms FROM ledger.written_at($1, $2) ORDER BY idx';
  const statement = { name: 'ledger written at', text, values: [channel, int8Array(positions)] };
  const rows = await readLedger<{ idx: string; at_ms: string }>(sql, statement, deadlineMs);
  return rows.map(({ idx, at_ms: at }) => ({ size: Number(idx) + 1, at: new Date(Number(at)).toISOString() }));
}

async function readGrowth(options: ProveOptions, channel: string): Promise<readonly GrowthPoint[]> {
  const size = (await readSize(options.sql, channel, options.deadlineMs)) ?? 0;
  const steps = Math.min(GROWTH_STEPS, size - 1);
  const positions = Array.from({ length: steps + 1 }, (_, step) =>
    steps === 0 ? 0 : Math.round((step * (size - 1)) / steps),
  );
  return size === 0 ? [] : readTimes(options, channel, positions);
}

/** @throws LedgerUnavailableError if that takes too long: what was indexed stays, and the next call continues. */
async function indexLeaves({ sql, deadlineMs, now }: ProveOptions, log: string): Promise<void> {
  const endsAtMs = now() + INDEX_WITHIN_MS;
  for (let done = false; !done;) {
    if (now() >= endsAtMs) throw new LedgerUnavailableError(`The leaves of ${log} are being indexed by their hash.`);
    const statement = { text: 'SELECT ledger.index_leaves($1, $2) AS done', values: [log, INDEX_AT_ONCE] };
    const [row] = await readLedger<{ done: boolean }>(sql, statement, deadlineMs);
    done = row?.done !== false;
  }
}
