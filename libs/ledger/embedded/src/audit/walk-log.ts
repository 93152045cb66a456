import { declarationLeaf, declarationText, type Declaration } from '@sealgate/envelope';
import { parseCheckpoint, TILE_WIDTH, TileTree, type Checkpoint, type Tile } from '@sealgate/merkle';
import {
  archivedLeaves,
  type AuditOptions,
  compareArchivedCheckpoint,
  compareArchivedTiles,
} from '../archive/audit-archive.ts';
import { readLedger } from '../database-problem.ts';
import { Finding, LedgerCorruptError } from '../ledger-corrupt-error.ts';
import { tileReader } from '../tile-store.ts';

/** A log of the channel: its records are those from `first_index` up to, but not including, `until_index`. */
export interface AuditedLog {
  log: string;
  epoch: number;
  first_index: string;
  until_index: string;
  checkpoint_size: string | null;
  checkpoint_root: Buffer | null;
  checkpoint: string | null;
  tile_count: string;
  statement: string | null;
  leaf_hash: Buffer | null;
  is_edited: boolean;
}

/** 32 full tiles: some 30 ms of work for the database, and as much for this process. */
const STRETCH_ROWS = 8192;
/** Lets the database hash on two cores while this process builds the tree. */
const STRETCHES_AHEAD = 2;
const HASH_BYTES = 32;

/** Number of entries of a log, including its declaration. */
export function headOf({ epoch, first_index: first, until_index: until }: AuditedLog): number {
  return Number(until) - Number(first) + (epoch > 0 ? 1 : 0);
}

/** @throws Finding if the checkpoint was not signed over this log. */
export function checkedCheckpoint({ verifier, origin }: AuditOptions, log: AuditedLog): Checkpoint | undefined {
  if (log.checkpoint === null) return undefined;
  if (verifier !== undefined && verifier.verify(log.checkpoint) === undefined) {
    throw new Finding('the stored checkpoint does not carry the signature of this ledger');
  }
  const checkpoint = parseCheckpoint(log.checkpoint);
  if (checkpoint.origin !== `${origin}/${log.log}`)
    throw new Finding(`the stored checkpoint has the origin ${checkpoint.origin}`);
  if (
    checkpoint.size !== Number(log.checkpoint_size) ||
    !checkpoint.root.equals(log.checkpoint_root ?? Buffer.alloc(0))
  ) {
    throw new Finding('size or root stored with the checkpoint differ from the signed ones');
  }
  if (checkpoint.size > headOf(log)) {
    throw new Finding(`the head is ${headOf(log)}, but a checkpoint was signed over ${checkpoint.size} records`);
  }
  return checkpoint;
}

interface Stretch {
  readonly from: number;
  readonly until: number;
}

/** Audits one log of a channel from its first entry to its last. @throws Finding. */
export class Walk {
  readonly #options: AuditOptions;
  readonly #channel: string;
  readonly #log: AuditedLog;
  /** Difference between a record's position in the channel and its index in the log. */
  readonly #shift: number;
  readonly #checkpoint: Checkpoint | undefined;
  readonly #tree = TileTree.empty();
  readonly #readTiles: ReturnType<typeof tileReader>;

  constructor(options: AuditOptions, channel: string, log: AuditedLog, checkpoint: Checkpoint | undefined) {
    this.#options = options;
    this.#channel = channel;
    this.#log = log;
    this.#shift = Number(log.until_index) - headOf(log);
    this.#checkpoint = checkpoint;
    this.#readTiles = tileReader(options.sql, log.log, options.deadlineMs);
  }

  async run(signal: AbortSignal | undefined): Promise<void> {
    const tiles = tileCountOf(this.#checkpoint?.size ?? 0);
    if (this.#log.epoch > 0) await this.#takeDeclaration();
    const signed = (this.#checkpoint?.size ?? 0) + this.#shift;
    const from = this.#log.epoch > 0 ? Number(this.#log.first_index) : await this.#walkArchive(signal);
    const range = { from, until: Number(this.#log.until_index) };
    const waiting: { stretch: Stretch; leaves: Promise<Buffer> }[] = [];
    for (const stretch of stretchesOf(range, signed)) {
      const leaves = this.#leaves(stretch);
      // Findings of earlier stretches take precedence; this one's error is then ignored.
      leaves.catch(() => undefined);
      waiting.push({ stretch, leaves });
      if (waiting.length > STRETCHES_AHEAD) await this.#take(waiting.shift()!, signal);
    }
    for (const next of waiting) await this.#take(next, signal);
    if (Number(this.#log.tile_count) < tiles)
      throw new Finding(`${this.#log.tile_count} tiles are stored, ${tiles} belong to the signed tree`);
  }

  /** Verifies entry 0 of an epoch. */
  async #takeDeclaration(): Promise<void> {
    const { epoch, statement, leaf_hash: leafHash } = this.#log;
    const said = JSON.parse(statement!) as Declaration;
    const leaf = declarationLeaf(said);
    if (declarationText(said) !== statement || !leaf.equals(leafHash!))
      throw new Finding(`the declaration of epoch ${epoch} does not match the first entry of its log`);
    await this.#compare(this.#tree.append(leaf));
    if (this.#checkpoint?.size === 1) await this.#compareCheckpoint(this.#checkpoint);
  }

  async #take({ stretch, leaves }: { stretch: Stretch; leaves: Promise<Buffer> }, signal: AbortSignal | undefined) {
    signal?.throwIfAborted();
    await this.#grow(stretch.until, await leaves);
  }

  /** Returns the tiles that became full. */
  async #grow(until: number, leaves: Buffer): Promise<readonly Tile[]> {
    const full = this.#tree.append(leaves);
    await this.#compare(full);
    if (until - this.#shift === this.#checkpoint?.size) await this.#compareCheckpoint(this.#checkpoint);
    this.#options.onWalked?.(until);
    return full;
  }

  /** Audits archived records, which are the beginning of the channel. Returns where the table continues. */
  async #walkArchive(signal: AbortSignal | undefined): Promise<number> {
    const { archive } = this.#options;
    for await (const { until, leaves } of archivedLeaves(this.#options, this.#channel)) {
      signal?.throwIfAborted();
      const full = await this.#grow(until, leaves);
      await compareArchivedTiles(archive!, this.#channel, full);
    }
    const { size: archived } = this.#tree;
    if (archived === 0) return 0;
    await compareArchivedCheckpoint({ ...this.#options, archive: archive! }, this.#channel, this.#tree);
    const text = 'SELECT row_count FROM ledger.audit_records($1, $2, $3)';
    const [row] = await this.#ask<{ row_count: string }>(text, [0, archived]);
    if (row!.row_count !== '0') throw new Finding(`${row!.row_count} archived records are in the table too`);
    return archived;
  }

  /** The leaf hashes of a stretch, each verified against its row. */
  async #leaves({ from, until }: Stretch): Promise<Buffer> {
    const [row] = await this.#ask<{ row_count: string; first_bad: string | null; leaf_hashes: string | null }>(
      "SELECT row_count, first_bad, encode(leaf_hashes, 'base64') AS leaf_hashes FROM ledger.audit_records($1, $2, $3)",
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
    return Buffer.from(row!.leaf_hashes!, 'base64');
  }

  async #missing(from: number, until: number): Promise<number> {
    const [row] = await this.#ask<{ idx: string }>('SELECT ledger.audit_missing($1, $2, $3) AS idx', [from, until]);
    return Number(row!.idx);
  }

  async #record(index: number): Promise<{ id: string | null; problem: string | null }> {
    const statement = 'SELECT id, problem FROM ledger.audit_record($1, $2)';
    const [row] = await this.#ask<{ id: string; problem: string | null }>(statement, [index]);
    return row ?? { id: null, problem: null };
  }

  async #enteredId(index: number): Promise<string | null> {
    const [row] = await this.#ask<{ id: string | null }>('SELECT ledger.audit_id_at($1, $2) AS id', [index]);
    return row?.id ?? null;
  }

  #ask<Row extends object>(text: string, values: readonly number[]): Promise<Row[]> {
    const { sql, deadlineMs } = this.#options;
    return readLedger<Row>(sql, { text, values: [this.#channel, ...values] }, deadlineMs);
  }

  /**
   * Compares stored tiles covered by the checkpoint with the computed ones. Lowest level first: it names the record.
   */
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
    const index = tile.index * TILE_WIDTH + leaf + this.#shift;
    if (index < Number(this.#log.first_index))
      return new Finding(`the declaration of epoch ${this.#log.epoch} does not match the tree`);
    const id = (await this.#record(index)).id ?? (await this.#enteredId(index));
    return new Finding(`record ${index} does not match the tree`, id);
  }

  async #compareCheckpoint(checkpoint: Checkpoint): Promise<void> {
    await this.#compare(this.#tree.edge());
    if (!this.#tree.root().equals(checkpoint.root)) {
      throw new Finding(`the records up to ${checkpoint.size + this.#shift} do not match the signed root`);
    }
  }
}

/** One stretch ends where the signed tree ends, so that its root can be compared there. */
function* stretchesOf({ from: first, until: size }: Stretch, signed: number): Generator<Stretch> {
  for (let from = first; from < size;) {
    const end = Math.min(from + STRETCH_ROWS, size);
    const until = from < signed && signed < end ? signed : end;
    yield { from, until };
    from = until;
  }
}

function tileCountOf(size: number): number {
  let tiles = 0;
  for (let hashes = size; hashes > 0; hashes = Math.floor(hashes / TILE_WIDTH)) tiles += Math.ceil(hashes / TILE_WIDTH);
  return tiles;
}
