import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import {
  declarationLeaf,
  logName,
  receiptLeaf,
  type Declaration,
  type Receipt,
  type RecordProof,
} from '@sealgate/envelope';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { HASH_BYTES, inclusionPath, TILE_WIDTH, verifyInclusion, type Checkpoint, type TileId } from '@sealgate/merkle';
import type { Sql } from '@sealgate/storage';
import type { CheckedCheckpoint } from './checked-checkpoint.ts';
import { readLedger } from './database-problem.ts';
import type { Epochs } from './epochs.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';
import type { SharedTiles } from './shared-tiles.ts';
import { FOUND_COLUMNS, receiptOf, type ArchivedRecords, type FoundRow, type RecordRow } from './stored-record.ts';
import { tileReader } from './tile-store.ts';

export interface ProveOptions {
  readonly sql: Sql;
  readonly epochs: Epochs;
  readonly deadlineMs: number;
  /** How long to wait for a checkpoint that covers the record, if another process integrates. */
  readonly coverWithinMs: number;
  /** Integrates now, if this process may; see `Integrator.catchUp`. */
  readonly catchUp?: (log: string, size: number) => Promise<void>;
  readonly checked: CheckedCheckpoint;
  /** The same for published checkpoints, with its own cache of the newest per log. */
  readonly checkedPublished: CheckedCheckpoint;
  readonly tiles: SharedTiles;
  readonly archived: ArchivedRecords;
  readonly now: () => number;
}

const POLL_MS = 20;

interface RecordWanted {
  readonly channel: string;
  readonly id: string;
  /** Records of other types are treated as absent, wherever they are stored. */
  readonly wants?: (type: string) => boolean;
}

/** @throws LedgerArchivedError for an archived record that this process cannot read. */
export async function findRecord(
  { sql, deadlineMs, archived }: Pick<ProveOptions, 'sql' | 'deadlineMs' | 'archived'>,
  { channel, id, wants = () => true }: RecordWanted,
): Promise<RecordRow | undefined> {
  const text = `SELECT ${FOUND_COLUMNS.join(', ')} FROM ledger.record($1, $2)`;
  const statement = { name: 'ledger record', text, values: [channel, id] };
  const rows = await readLedger<FoundRow>(sql, statement, deadlineMs);
  const [record] = await archived.complete(rows.filter(({ type }) => wants(type)));
  return record;
}

/** A record with what is needed to prove it in the log that it most likely is in: the current one. */
interface FoundInLog {
  readonly row: RecordRow;
  readonly log: string;
  /** The published checkpoint; null before the first. */
  readonly note: string | null;
  /** The tile with its leaf, as far as it is stored. */
  readonly leaves: Buffer | null;
}

const IN_LOG = `SELECT ${FOUND_COLUMNS.map((name) => `r.${name}`).join(', ')}, ledger.published($3) AS note,
       (SELECT t.hashes FROM ledger.tiles($3, ARRAY[0]::int2[], ARRAY[(r.idx - $4::bigint) >> 8]) t) AS leaves
  FROM ledger.record($1, $2) r`;

/** In one statement. @throws as `findRecord`. */
async function findInLog(
  { sql, deadlineMs, epochs, archived }: ProveOptions,
  { channel, id, wants = () => true }: RecordWanted,
): Promise<FoundInLog | undefined> {
  const { epoch = 0, firstIndex = 1 } = epochs.of(channel).at(-1) ?? {};
  const log = logName(channel, epoch);
  const statement = { name: 'ledger record in log', text: IN_LOG, values: [channel, id, log, firstIndex - 1] };
  const rows = await readLedger<FoundRow & Pick<FoundInLog, 'note' | 'leaves'>>(sql, statement, deadlineMs);
  const [found] = rows.filter(({ type }) => wants(type));
  if (found === undefined) return undefined;
  const [row] = await archived.complete([found]);
  return row && { row, log, note: found.note, leaves: found.leaves };
}

/** The newest checkpoint whose tree is stored. One that is not this ledger's is neither served nor used. */
export async function findCheckpoint(
  { sql, deadlineMs, checked }: Pick<ProveOptions, 'sql' | 'deadlineMs' | 'checked'>,
  log: string,
): Promise<Covering | undefined> {
  const statement = { name: 'ledger checkpoint', text: 'SELECT ledger.checkpoint($1) AS note', values: [log] };
  const [row] = await readLedger<{ note: string | null }>(sql, statement, deadlineMs);
  if (row?.note == null) return undefined;
  return { note: row.note, checkpoint: notCorrupt(() => checked(log, row.note!)) };
}

/**
 * The published checkpoint of a log: with witnesses, a cosigned one, which may cover fewer entries than the newest.
 * Undefined before the first.
 */
export async function findPublished(
  { sql, deadlineMs, checkedPublished }: Pick<ProveOptions, 'sql' | 'deadlineMs' | 'checkedPublished'>,
  log: string,
): Promise<Covering | undefined> {
  const statement = { name: 'ledger published', text: 'SELECT ledger.published($1) AS note', values: [log] };
  const [row] = await readLedger<{ note: string | null }>(sql, statement, deadlineMs);
  return publishedOf({ checkedPublished }, log, row?.note ?? null);
}

const publishedOf = (
  { checkedPublished: checked }: Pick<ProveOptions, 'checkedPublished'>,
  log: string,
  note: string | null,
): Covering | undefined => (note === null ? undefined : { note, checkpoint: notCorrupt(() => checked(log, note)) });

/** Maps LedgerCorruptError to LedgerUnavailableError: the read succeeds again once the channel is restored. */
export function notCorrupt<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw unavailableIfCorrupt(error);
  }
}

export function unavailableIfCorrupt(error: unknown): unknown {
  return error instanceof LedgerCorruptError ? new LedgerUnavailableError(error.message, { cause: error }) : error;
}

/**
 * A receipt and the path from its leaf to a signed checkpoint; undefined if there is no such record. The proof is
 * verified before it is returned.
 *
 * @throws LedgerCorruptError if the record or the tree is not what was signed.
 * @throws LedgerUnavailableError if no checkpoint covers the record in time.
 */
export async function proveRecord(
  options: ProveOptions,
  wanted: RecordWanted,
): Promise<{ receipt: Receipt; proof: RecordProof } | undefined> {
  const { channel } = wanted;
  const found = await findInLog(options, wanted);
  if (found === undefined) return undefined;
  await options.epochs.fresh();
  const { row } = found;
  const receipt = receiptOf(row, options.epochs);
  const { index, epoch = 0 } = receipt;
  const log = logName(channel, epoch);
  const leafHash = receiptLeaf(receipt);
  const { note, leaves } = found.log === log ? found : { note: undefined, leaves: null };
  const covering = await coveringCheckpoint(options, { log, index }, note);
  const inclusion = await provedPath(options, log, { leafHash, index, covering, leaves });
  assert.equal(
    row.leaf_hash.toString('hex'),
    leafHash.toString('hex'),
    'A leaf that is in the tree is the leaf that is stored.',
  );
  const proof = {
    channel,
    index,
    leafHash: leafHash.toString('hex'),
    treeSize: covering.checkpoint.size,
    inclusionPath: inclusion,
    checkpoint: covering.note,
  };
  if (epoch === 0) return { receipt, proof };
  const declaration = await provedDeclaration(options, log, covering);
  return { receipt, proof: { ...proof, epoch, origin: covering.checkpoint.origin, declaration } };
}

/** A checkpoint as stored, and parsed. */
export interface Covering {
  readonly note: string;
  readonly checkpoint: Checkpoint;
}

/** The declaration at leaf 0 of a log, with its proof against the newest checkpoint. */
export interface ProvedDeclaration {
  readonly statement: Declaration;
  readonly inclusionPath: string[];
  readonly treeSize: number;
  readonly checkpoint: string;
}

/**
 * The declaration of an epoch; undefined if there is no such epoch, or it is not signed yet. @throws as `proveRecord`.
 */
export async function proveDeclaration(
  options: ProveOptions,
  channel: string,
  epoch: number,
): Promise<ProvedDeclaration | undefined> {
  const log = logName(channel, epoch);
  const { epochs } = options;
  await epochs.fresh();
  const covering = epochs.of(channel).some((one) => one.epoch === epoch)
    ? await findCheckpoint(options, log)
    : undefined;
  if (covering === undefined) return undefined;
  const declared = await provedDeclaration(options, log, covering);
  return { ...declared, treeSize: covering.checkpoint.size, checkpoint: covering.note };
}

export async function provedDeclaration(
  options: ProveOptions,
  log: string,
  covering: Covering,
): Promise<{ readonly statement: Declaration; readonly inclusionPath: string[] }> {
  const statement = options.epochs.declaration(log);
  const inclusionPath = await provedPath(options, log, { leafHash: declarationLeaf(statement), index: 0, covering });
  return { statement, inclusionPath };
}

interface LeafToProve {
  readonly leafHash: Buffer;
  readonly index: number;
  readonly covering: Covering;
  /** The tile with the leaf, where it was read already. */
  readonly leaves?: Buffer | null;
}

/** @throws LedgerCorruptError if the path does not lead to the signed root. */
export async function provedPath(
  { sql, deadlineMs, tiles }: ProveOptions,
  log: string,
  { leafHash, index, covering, leaves = null }: LeafToProve,
): Promise<string[]> {
  const { size, root } = covering.checkpoint;
  const read = tileReader(sql, log, deadlineMs);
  const isProof = (path: readonly Buffer[]) => verifyInclusion({ leafHash, index, size, path, root });
  let path = await inclusionPath(index, size, (wanted) => tiles.read(log, wanted, besides(read, { index, leaves })));
  if (!isProof(path)) {
    tiles.forget(log);
    path = await inclusionPath(index, size, read);
  }
  if (!isProof(path)) {
    throw new LedgerCorruptError(log, `record ${index} is not what the checkpoint at ${size} was signed over`);
  }
  return path.map((hash) => hash.toString('hex'));
}

/** Reads tiles, except the one that is there already. */
function besides(
  read: ReturnType<typeof tileReader>,
  { index, leaves }: { readonly index: number; readonly leaves: Buffer | null },
): ReturnType<typeof tileReader> {
  const isThere = (tile: TileId): boolean =>
    tile.level === 0 &&
    tile.index === Math.floor(index / TILE_WIDTH) &&
    leaves !== null &&
    leaves.length >= tile.width * HASH_BYTES;
  return async (wanted) => {
    const others = wanted.filter((tile) => !isThere(tile));
    const found = others.length === 0 ? [] : await read(others);
    return wanted.map((tile) => found[others.indexOf(tile)] ?? leaves!);
  };
}

/** `note`: the published one, if it was read already. */
async function coveringCheckpoint(
  options: ProveOptions,
  { log, index }: { log: string; index: number },
  note: string | null | undefined,
): Promise<Covering> {
  const giveUpAtMs = options.now() + options.coverWithinMs;
  // Prefer the published checkpoint, which has cosignatures if there are any.
  const published = note === undefined ? await findPublished(options, log) : publishedOf(options, log, note);
  if (published !== undefined && published.checkpoint.size > index) return published;
  for (;;) {
    const newest = await findCheckpoint(options, log);
    if (newest !== undefined && newest.checkpoint.size > index) return newest;
    if (options.now() > giveUpAtMs) throw new LedgerUnavailableError('No checkpoint covers the record yet.');
    await options.catchUp?.(log, index + 1).catch((error: unknown) => {
      throw unavailableIfCorrupt(error);
    });
    await delay(POLL_MS);
  }
}
