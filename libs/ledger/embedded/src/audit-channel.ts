import { randomInt } from 'node:crypto';
import type { AuditReport } from '@sealgate/ledger-port';
import { parseCheckpoint, TILE_WIDTH, TileTree, type Checkpoint, type NoteVerifier, type Tile } from '@sealgate/merkle';
import type { Sql } from '@sealgate/storage';
import { auditClaims } from './audit-claims.ts';
import { AuditRow } from './audit-rows.ts';
import { readLedger } from './database-problem.ts';
import { tileReader } from './tile-store.ts';

export interface AuditOptions {
  readonly sql: Sql;
  readonly deadlineMs: number;
  /** Absent where this process knows no key: signatures are then not checked. */
  readonly verifier?: NoteVerifier;
  readonly origin: string;
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

const CHUNK_ROWS = 2048;
const HASH_BYTES = 32;

/**
 * Walks a channel from its first record to its head: recomputes every content hash, every leaf and the whole tree,
 * holds them against the stored tiles and the signed checkpoint, then the claims and the indexes beside the log.
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
  try {
    const checkpoint = checkedCheckpoint(options, channel, counts);
    // Beside the walk, because it is the database's work while the walk is ours; what the walk finds is told first.
    const beside = checkBeside(options, channel, counts, checkpoint);
    beside.catch(() => undefined);
    await new Walk(options, channel, counts, checkpoint).run(signal);
    await beside;
    return { ok: true, size, firstBadRecordId: null, problem: null };
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    return { ok: false, size, firstBadRecordId: error.recordId, problem: error.message };
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

class Walk {
  readonly #options: AuditOptions;
  readonly #channel: string;
  readonly #size: number;
  readonly #checkpoint: Checkpoint | undefined;
  readonly #tree = TileTree.empty();
  readonly #row: AuditRow;
  readonly #readTiles: ReturnType<typeof tileReader>;

  constructor(options: AuditOptions, channel: string, counts: Counts, checkpoint: Checkpoint | undefined) {
    this.#options = options;
    this.#channel = channel;
    this.#size = Number(counts.size);
    this.#checkpoint = checkpoint;
    this.#row = new AuditRow({ channel: JSON.stringify(channel), network: JSON.stringify(counts.network) });
    this.#readTiles = tileReader(options.sql, channel, options.deadlineMs);
  }

  /** The next stretch is on its way while this one is hashed. */
  async run(signal: AbortSignal | undefined): Promise<void> {
    let next = this.#read(0);
    while (this.#tree.size < this.#size) {
      signal?.throwIfAborted();
      const from = this.#tree.size;
      const until = this.#end(from);
      const rows = await next;
      next = this.#read(until);
      next.catch(() => undefined);
      const full = this.#tree.append(await this.#leaves(rows, from, until));
      await this.#compare(full, from);
      if (this.#tree.size === this.#checkpoint?.size) await this.#compareCheckpoint(this.#checkpoint, from);
    }
  }

  /** A stretch ends where the signed tree ends, so that its root can be compared there. */
  #end(from: number): number {
    const end = Math.min(from + CHUNK_ROWS, this.#size);
    const signed = this.#checkpoint?.size ?? 0;
    return from < signed && signed < end ? signed : end;
  }

  async #read(from: number): Promise<Buffer> {
    if (from >= this.#size) return Buffer.alloc(0);
    const values = await readLedger<{ rows: Buffer }>(
      this.#options.sql,
      {
        name: 'ledger audit',
        text: 'SELECT rows FROM ledger.audit_records_v1($1, $2, $3)',
        values: [this.#channel, from, this.#end(from) - from],
      },
      this.#options.deadlineMs,
    );
    return Buffer.concat(values.map(({ rows }) => rows));
  }

  async #leaves(rows: Buffer, from: number, until: number): Promise<Buffer> {
    const leaves = Buffer.allocUnsafe((until - from) * HASH_BYTES);
    let at = 0;
    for (let index = from; index < until; index += 1) {
      if (at >= rows.length) throw await this.#missing(index);
      at = this.#row.read(rows, at);
      if (this.#row.index !== index) throw await this.#missing(index);
      const problem = this.#row.problem(index);
      if (problem !== undefined) throw new Finding(problem, this.#row.id);
      leaves.set(this.#row.leafHash, (index - from) * HASH_BYTES);
    }
    return leaves;
  }

  async #missing(index: number): Promise<Finding> {
    const statement = { text: 'SELECT ledger.audit_id_at_v1($1, $2) AS id', values: [this.#channel, index] };
    const [row] = await readLedger<{ id: string | null }>(this.#options.sql, statement, this.#options.deadlineMs);
    return new Finding(`record ${index} is missing`, row?.id ?? null);
  }

  /** Stored tiles below the checkpoint against those the records give. Lowest level first: it names the record. */
  async #compare(tiles: readonly Tile[], from: number): Promise<void> {
    const signed = this.#checkpoint?.size ?? 0;
    const covered = tiles.filter(
      ({ level, index, width }) => (index * TILE_WIDTH + width) * TILE_WIDTH ** level <= signed,
    );
    if (covered.length === 0) return;
    const stored = await this.#readTiles(covered).catch((error: Error) => {
      throw new Finding(error.message);
    });
    for (const [position, tile] of covered.entries()) {
      if (tile.hashes.equals(stored[position]!)) continue;
      if (tile.level > 0) throw new Finding(`tile ${tile.level}/${tile.index} disagrees with the records below it`);
      throw await this.#disagreeing(tile, stored[position]!, from);
    }
  }

  async #disagreeing(tile: Tile, stored: Buffer, from: number): Promise<Finding> {
    let leaf = 0;
    while (
      tile.hashes.compare(
        stored,
        leaf * HASH_BYTES,
        (leaf + 1) * HASH_BYTES,
        leaf * HASH_BYTES,
        (leaf + 1) * HASH_BYTES,
      ) === 0
    ) {
      leaf += 1;
    }
    const index = tile.index * TILE_WIDTH + leaf;
    const rows = await this.#read(Math.min(from, index));
    let id: string | null = null;
    for (let at = 0; at < rows.length;) {
      at = this.#row.read(rows, at);
      if (this.#row.index === index) id = this.#row.id;
    }
    return new Finding(`record ${index} is not the one that the tree was built over`, id);
  }

  async #compareCheckpoint(checkpoint: Checkpoint, from: number): Promise<void> {
    await this.#compare(this.#tree.edge(), from);
    if (!this.#tree.root().equals(checkpoint.root)) {
      throw new Finding(`the records up to ${checkpoint.size} do not give the root that was signed`);
    }
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
