import { randomInt } from 'node:crypto';
import type { AuditReport } from '@sealgate/ledger-port';
import { parseCheckpoint, TILE_WIDTH, TileTree, type Checkpoint, type NoteVerifier, type Tile } from '@sealgate/merkle';
import type { Sql } from '@sealgate/storage';
import { auditClaims } from './audit-claims.ts';
import { readLedger } from './database-problem.ts';
import { readHalts } from './halts.ts';
import { LedgerCorruptError, lossText } from './ledger-corrupt-error.ts';
import { tileReader } from './tile-store.ts';

export interface AuditOptions {
  readonly sql: Sql;
  readonly deadlineMs: number;
  /** Absent where this process knows no key: signatures are then not checked. */
  readonly verifier?: NoteVerifier;
  readonly origin: string;
  /** Told how many records were walked, again and again. */
  readonly onWalked?: (records: number) => void;
}

/** What the walk found wrong first. */
class Finding extends Error {
  readonly recordId: string | null;

  constructor(problem: string, recordId: string | null = null) {
    super(problem);
    this.recordId = recordId;
  }
}

interface Counts {
  size: string;
  network: string;
  checkpoint_size: string | null;
  checkpoint_root: Buffer | null;
  checkpoint: string | null;
  beyond_head: string | null;
  id_count: string;
  stray_rows: string;
  edited_erasure: string | null;
  tile_count: string;
}

/** 32 full tiles: some 30 ms of the database's time, and as much of ours. */
const STRETCH_ROWS = 8192;
/** So that the database hashes on two cores while we build the tree. */
const STRETCHES_AHEAD = 2;
const HASH_BYTES = 32;

/**
 * Walks a channel from its first record to its head. The database recomputes every content hash and every leaf; the
 * whole tree is built here from the leaves, and held against the stored tiles and the signed checkpoint; then the claims
 * and the indexes beside the log; last, what is known to be missing at its end.
 * Undefined when there is no such channel.
 */
export async function auditChannel(
  options: AuditOptions,
  channel: string,
  signal?: AbortSignal,
): Promise<AuditReport | undefined> {
  const [counts] = await readLedger<Counts>(
    options.sql,
    { text: 'SELECT * FROM ledger.audit_counts_v1($1)', values: [channel] },
    options.deadlineMs,
  );
  if (counts === undefined) return undefined;
  const size = Number(counts.size);
  const loss = (await readHalts(options.sql, options.deadlineMs)).find((halt) => halt.channel === channel)?.loss;
  const lost = loss === undefined ? [] : [lossText(loss, size)];
  try {
    const checkpoint = checkedCheckpoint(options, channel, counts);
    // Beside the walk, because it is the database's work while the walk is ours; what the walk finds is told first.
    const beside = checkBeside(options, channel, counts, checkpoint);
    beside.catch(() => undefined);
    await new Walk(options, channel, size, checkpoint).run(signal);
    await beside;
    // What is there is as it was written; that does not say that it is all.
    return { ok: lost.length === 0, size, firstBadRecordId: null, problem: lost[0] ?? null };
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    return { ok: false, size, firstBadRecordId: error.recordId, problem: [error.message, ...lost].join('; ') };
  }
}

function checkedCheckpoint(
  { verifier, origin }: AuditOptions,
  channel: string,
  counts: Counts,
): Checkpoint | undefined {
  if (counts.checkpoint === null) return undefined;
  if (verifier !== undefined && verifier.verify(counts.checkpoint) === undefined) {
    throw new Finding('the stored checkpoint does not carry the signature of this ledger');
  }
  const checkpoint = parseCheckpoint(counts.checkpoint);
  if (checkpoint.origin !== `${origin}/${channel}`)
    throw new Finding(`the stored checkpoint is of ${checkpoint.origin}`);
  if (
    checkpoint.size !== Number(counts.checkpoint_size) ||
    !checkpoint.root.equals(counts.checkpoint_root ?? Buffer.alloc(0))
  ) {
    throw new Finding('size or root beside the stored checkpoint are not those it was signed over');
  }
  if (checkpoint.size > Number(counts.size)) {
    throw new Finding(`the head is ${counts.size}, but a checkpoint was signed over ${checkpoint.size} records`);
  }
  return checkpoint;
}

interface Stretch {
  readonly from: number;
  readonly until: number;
}

interface StretchRow {
  row_count: string;
  first_bad: string | null;
  leaf_hashes: Buffer | null;
}

class Walk {
  readonly #options: AuditOptions;
  readonly #channel: string;
  readonly #size: number;
  readonly #checkpoint: Checkpoint | undefined;
  readonly #tree = TileTree.empty();
  readonly #readTiles: ReturnType<typeof tileReader>;

  constructor(options: AuditOptions, channel: string, size: number, checkpoint: Checkpoint | undefined) {
    this.#options = options;
    this.#channel = channel;
    this.#size = size;
    this.#checkpoint = checkpoint;
    this.#readTiles = tileReader(options.sql, channel, options.deadlineMs);
  }

  async run(signal: AbortSignal | undefined): Promise<void> {
    const waiting: { stretch: Stretch; leaves: Promise<Buffer> }[] = [];
    for (const stretch of stretchesOf(this.#size, this.#checkpoint?.size ?? 0)) {
      const leaves = this.#leaves(stretch);
      // What an earlier stretch is found to be comes first; this one is then of no interest.
      leaves.catch(() => undefined);
      waiting.push({ stretch, leaves });
      if (waiting.length > STRETCHES_AHEAD) await this.#take(waiting.shift()!, signal);
    }
    for (const next of waiting) await this.#take(next, signal);
  }

  async #take({ stretch, leaves }: { stretch: Stretch; leaves: Promise<Buffer> }, signal: AbortSignal | undefined) {
    signal?.throwIfAborted();
    await this.#compare(this.#tree.append(await leaves));
    if (stretch.until === this.#checkpoint?.size) await this.#compareCheckpoint(this.#checkpoint);
    this.#options.onWalked?.(stretch.until);
  }

  /** The leaf hashes of a stretch, each of which is what its row gives. */
  async #leaves({ from, until }: Stretch): Promise<Buffer> {
    const [row] = await this.#ask<StretchRow>(
      'SELECT row_count, first_bad, leaf_hashes FROM ledger.audit_records_v1($1, $2, $3)',
      [from, until],
    );
    const isWhole = Number(row!.row_count) === until - from;
    const missing = isWhole ? undefined : await this.#missing(from, until);
    const bad = row!.first_bad === null ? undefined : Number(row!.first_bad);
    if (bad !== undefined && bad < (missing ?? until)) {
      const { id, problem } = await this.#record(bad);
      throw new Finding(`record ${bad}: ${problem}`, id);
    }
    if (missing !== undefined) throw new Finding(`record ${missing} is missing`, await this.#enteredId(missing));
    return row!.leaf_hashes!;
  }

  async #missing(from: number, until: number): Promise<number> {
    const [row] = await this.#ask<{ idx: string }>('SELECT ledger.audit_missing_v1($1, $2, $3) AS idx', [from, until]);
    return Number(row!.idx);
  }

  async #record(index: number): Promise<{ id: string | null; problem: string | null }> {
    const statement = 'SELECT id, problem FROM ledger.audit_record_v1($1, $2)';
    const [row] = await this.#ask<{ id: string; problem: string | null }>(statement, [index]);
    return row ?? { id: null, problem: null };
  }

  async #enteredId(index: number): Promise<string | null> {
    const [row] = await this.#ask<{ id: string | null }>('SELECT ledger.audit_id_at_v1($1, $2) AS id', [index]);
    return row?.id ?? null;
  }

  #ask<Row extends object>(text: string, values: readonly number[]): Promise<Row[]> {
    const { sql, deadlineMs } = this.#options;
    return readLedger<Row>(sql, { text, values: [this.#channel, ...values] }, deadlineMs);
  }

  /** Stored tiles below the checkpoint against those the records give. Lowest level first: it names the record. */
  async #compare(tiles: readonly Tile[]): Promise<void> {
    const signed = this.#checkpoint?.size ?? 0;
    const covered = tiles.filter(
      ({ level, index, width }) => (index * TILE_WIDTH + width) * TILE_WIDTH ** level <= signed,
    );
    if (covered.length === 0) return;
    const stored = await this.#readTiles(covered).catch((error: unknown) => {
      throw error instanceof LedgerCorruptError ? new Finding(error.message) : error;
    });
    for (const [position, tile] of covered.entries()) {
      if (tile.hashes.equals(stored[position]!)) continue;
      if (tile.level > 0) throw new Finding(`tile ${tile.level}/${tile.index} disagrees with the records below it`);
      throw await this.#disagreeing(tile, stored[position]!);
    }
  }

  async #disagreeing(tile: Tile, stored: Buffer): Promise<Finding> {
    const hashAt = (hashes: Buffer, leaf: number) => hashes.subarray(leaf * HASH_BYTES, (leaf + 1) * HASH_BYTES);
    let leaf = 0;
    while (hashAt(tile.hashes, leaf).equals(hashAt(stored, leaf))) leaf += 1;
    const index = tile.index * TILE_WIDTH + leaf;
    const { id } = await this.#record(index);
    return new Finding(`record ${index} is not the one that the tree was built over`, id);
  }

  async #compareCheckpoint(checkpoint: Checkpoint): Promise<void> {
    await this.#compare(this.#tree.edge());
    if (!this.#tree.root().equals(checkpoint.root)) {
      throw new Finding(`the records up to ${checkpoint.size} do not give the root that was signed`);
    }
  }
}

/** One stretch ends where the signed tree ends, so that its root can be compared there. */
function* stretchesOf(size: number, signed: number): Generator<Stretch> {
  for (let from = 0; from < size;) {
    const end = Math.min(from + STRETCH_ROWS, size);
    const until = from < signed && signed < end ? signed : end;
    yield { from, until };
    from = until;
  }
}

/** What stands beside the log: the head, ids, tiles, erasures, the index by type, claims. */
async function checkBeside(
  options: AuditOptions,
  channel: string,
  counts: Counts,
  checkpoint: Checkpoint | undefined,
): Promise<void> {
  const { sql, deadlineMs } = options;
  if (counts.beyond_head !== null) {
    const statement = { text: 'SELECT ledger.audit_id_at_v1($1, $2) AS id', values: [channel, counts.beyond_head] };
    const [row] = await readLedger<{ id: string | null }>(sql, statement, deadlineMs);
    throw new Finding(`record ${counts.beyond_head} stands behind the head ${counts.size}`, row?.id ?? null);
  }
  await checkIds(options, channel, counts);
  if (counts.stray_rows !== '0') throw new Finding(`${counts.stray_rows} rows belong to no channel`);
  if (counts.edited_erasure !== null) throw new Finding(`the erasure of record ${counts.edited_erasure} was edited`);
  const tiles = tileCountOf(checkpoint?.size ?? 0);
  if (Number(counts.tile_count) < tiles)
    throw new Finding(`${counts.tile_count} tiles are stored, ${tiles} belong to the signed tree`);
  const typeStatement = { text: 'SELECT ledger.audit_types_v1($1) AS bad', values: [channel] };
  const [types] = await readLedger<{ bad: string | null }>(sql, typeStatement, deadlineMs);
  if (types?.bad != null) throw new Finding(`the index by type disagrees at record ${types.bad}`);
  const claim = await auditClaims(sql, channel, deadlineMs);
  if (claim !== undefined) throw new Finding(claim.problem, claim.recordId);
}

/** Ids beside the log: as many as records, and the same ones for the same indexes. */
async function checkIds({ sql, deadlineMs }: AuditOptions, channel: string, counts: Counts): Promise<void> {
  const statement = { text: 'SELECT idx, id FROM ledger.audit_ids_v1($1, $2)', values: [channel, randomInt(2 ** 47)] };
  const [bad] = await readLedger<{ idx: string; id: string }>(sql, statement, deadlineMs);
  if (bad !== undefined) throw new Finding(`the id of record ${bad.idx} is not entered for it`, bad.id);
  if (counts.id_count !== counts.size)
    throw new Finding(`${counts.id_count} ids are entered for ${counts.size} records`);
}

function tileCountOf(size: number): number {
  let tiles = 0;
  for (let hashes = size; hashes > 0; hashes = Math.floor(hashes / TILE_WIDTH)) tiles += Math.ceil(hashes / TILE_WIDTH);
  return tiles;
}
