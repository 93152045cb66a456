import { randomBytes } from 'node:crypto';
import { ArchiveRefusedError, type ArchiveOrder, type ArchiveProgress } from '@sealgate/ledger-port';
import {
  checkpointText,
  consistencyPath,
  HASH_BYTES,
  TILE_WIDTH,
  TileTree,
  tileWidth,
  verifyConsistency,
  type Checkpoint,
  type RootSigner,
} from '@sealgate/merkle';
import { DatabaseUnavailableError, int8Array, type Sql } from '@sealgate/storage';
import { archivedLine, ArchiveFileError, recordOfRow, type ContentRow } from './archived-record.ts';
import type { CheckedCheckpoint } from '../checked-checkpoint.ts';
import { readLedger } from '../database-problem.ts';
import { LedgerCorruptError } from '../ledger-corrupt-error.ts';
import { findCheckpoint } from '../prove-record.ts';
import { tileReader } from '../tile-store.ts';
import { lockArchive, writeErasures, type ErasureOptions } from './write-erasures.ts';

/** `sql` must use a role that may read and erase in the channels. */
interface ArchiverOptions extends ErasureOptions {
  readonly origin: string;
  readonly signer: RootSigner;
  readonly checked: CheckedCheckpoint;
  /** Compares a channel with its checkpoints kept outside the database, and halts it if it does not continue them. */
  readonly compare: (channel: string) => Promise<void>;
  readonly now: () => number;
}

const READ_WITHIN_MS = 10_000;
/** Limit for one stretch: reading, writing, reading back and removing at most a few thousand megabytes. */
const STRETCH_WITHIN_MS = 120_000;
/** A file ends at the first whole tile after either limit, so that an erasure does not rewrite a large file. */
const STRETCH_RECORDS = 1024;
const STRETCH_BYTES = 4_194_304;
/** Bytes read and held at once; a larger record is read alone. */
const PAGE_BYTES = 4_194_304;
const SERIALIZATION_FAILURE = '40001';
const NOT_IN_STATE = '55000';

interface StateRow {
  network: string;
  size: string;
  signed: string;
  archived: string;
  younger_from: string;
  refused: string | null;
}

/**
 * Moves records from the database into files, one stretch at a time: written, synced, read back, verified against the
 * signed tree, and only then removed from the table, in one transaction. After a crash at any point the table or the
 * files hold every record, and repeating the order continues. One process at a time writes the files of a channel.
 */
export class Archiver {
  readonly #options: ArchiverOptions;
  #unwritten = 0;

  constructor(options: ArchiverOptions) {
    this.#options = options;
  }

  /**
   * Archives for about `withinMs`; undefined if there is no such channel. Repeating the order continues it, and signs
   * the existing archive again. Refuses to write into a folder without the files that are already archived (another
   * volume, or one that is not mounted), which would split the archive.
   * @throws ArchiveRefusedError, LedgerUnavailableError
   */
  async archive(order: ArchiveOrder, withinMs: number): Promise<ArchiveProgress | undefined> {
    const { sql, files, compare, now } = this.#options;
    const { channel } = order;
    await compare(channel);
    const statement = {
      text: 'SELECT * FROM ledger.archive_state($1, $2)',
      values: [channel, 'before' in order ? null : order.olderThanMs],
    };
    const [state] = await readLedger<StateRow>(sql, statement, READ_WITHIN_MS);
    if (state === undefined) return undefined;
    if (state.refused !== null) throw new ArchiveRefusedError(`The ${state.refused}.`);
    const wanted = Math.min('before' in order ? order.before : Number(state.younger_from), Number(state.signed));
    const before = Number(state.archived);
    const until = Math.max(before, wanted - (wanted % TILE_WIDTH));
    const giveUpAtMs = now() + withinMs;
    let archived = before;
    if (archived > 0) await asArchiveRefusal(archived, () => files.assertReaches(channel, archived));
    if (archived === until && archived > 0) await asArchiveRefusal(archived, () => this.#signAgain(channel, archived));
    while (archived < until && (archived === before || now() < giveUpAtMs))
      archived = await this.#stretch({ channel, network: state.network, size: Number(state.size) }, archived, until);
    return { channel, size: Number(state.size), archived, until };
  }

  /** Files and channels that the last pass could not remove an erasure from. */
  get unwritten(): number {
    return this.#unwritten;
  }

  /** Removes erased content from the files that still hold it. Failures are logged and retried in the next pass. */
  async writeErasures(): Promise<void> {
    this.#unwritten = await writeErasures(this.#options);
  }

  /** The same for one channel, independent of the periodic pass. */
  async writeErasuresOf(channel: string): Promise<void> {
    this.#unwritten = Math.max(this.#unwritten, await writeErasures(this.#options, channel));
  }

  /** Archives one stretch. Returns the number of records archived afterwards. */
  async #stretch(of: { channel: string; network: string; size: number }, from: number, until: number): Promise<number> {
    try {
      return await asArchiveRefusal(from, () =>
        this.#options.sql.transaction((sql) => this.#move(sql, of, { from, until }), { deadlineMs: STRETCH_WITHIN_MS }),
      );
    } catch (error) {
      const { code, message } = error as { code?: unknown; message?: unknown };
      // A record of the stretch was erased concurrently: write the file again.
      if (code === SERIALIZATION_FAILURE) return from;
      if (code === NOT_IN_STATE) throw new ArchiveRefusedError(`The ${String(message)}.`, { cause: error });
      throw error;
    }
  }

  async #move(
    sql: Sql,
    { channel, network, size }: { channel: string; network: string; size: number },
    { from, until }: { from: number; until: number },
  ): Promise<number> {
    const { files } = this.#options;
    const lock = await lockArchive(sql, channel, from);
    if (Number(lock?.archived) !== from) return Number(lock?.archived ?? from);
    const tree = await treeAt(sql, channel, from);
    await files.assertHolds(channel, tree.edge());
    await files.clear(channel, { from, size });
    const draft = await files.draft(channel, from, linesOf(sql, { channel, network }, { from, until }));
    const stretch = { from, until: from + draft.leaves.length / HASH_BYTES };
    const full = tree.append(draft.leaves);
    const checkpoint = await this.#signed(sql, channel, tree);
    await draft.keep(stretch);
    await files.writeTiles(channel, [...full, ...tree.edge()]);
    await files.writeCheckpoint(channel, checkpoint);
    await sql.query({
      text: 'SELECT ledger.archive_records($1, $2, $3, $4, $5)',
      values: [channel, from, stretch.until, randomBytes(HASH_BYTES), int8Array(draft.erased)],
    });
    return stretch.until;
  }

  /** Signs with the current keys, so that the archive carries the new key's signature after a key rotation. */
  async #signAgain(channel: string, archived: number): Promise<void> {
    await this.#options.sql.transaction(
      async (sql) => {
        const { files } = this.#options;
        if (Number((await lockArchive(sql, channel, archived))?.archived) !== archived) return;
        const tree = await treeAt(sql, channel, archived);
        await files.assertHolds(channel, tree.edge());
        await files.writeCheckpoint(channel, await this.#signed(sql, channel, tree));
      },
      { deadlineMs: STRETCH_WITHIN_MS },
    );
  }

  /**
   * Signs a checkpoint over `tree`, once the newest signed checkpoint proves to extend it. @throws LedgerCorruptError
   */
  async #signed(sql: Sql, channel: string, tree: TileTree): Promise<string> {
    const { checked, origin, signer } = this.#options;
    const newest = await findCheckpoint({ sql, deadlineMs: READ_WITHIN_MS, checked }, channel);
    const { size, root } = { size: tree.size, root: tree.root() };
    if (newest === undefined || !(await continues(sql, channel, { origin, size, root }, newest.checkpoint)))
      throw new LedgerCorruptError(
        channel,
        `records below ${size} are not those that were signed for: audit the channel`,
      );
    const of = `${origin}/${channel}`;
    return signer.ofLog(of).sign(checkpointText({ origin: of, size, root }));
  }
}

/** Duration of one step, after which the caller gets an answer. */
const STEP_MS = 4000;

/** Archives for a few seconds. @throws ArchiveRefusedError also in a process that does not write the archive. */
export async function archiveStep(archiver: Archiver | undefined, order: ArchiveOrder) {
  if (archiver !== undefined) return archiver.archive(order, STEP_MS);
  const writer = 'the one with LEDGER_INTEGRATOR=true and LEDGER_ARCHIVE_DIR does';
  throw new ArchiveRefusedError(`This process does not write the archive: ${writer}.`);
}

/** Turns errors of files and of the log into ArchiveRefusedError. */
async function asArchiveRefusal<Result>(from: number, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ArchiveFileError || error instanceof LedgerCorruptError || isFileSystemError(error)))
      throw error;
    const reason = (error as Error).message.replace(/\.$/, '');
    throw new ArchiveRefusedError(`Nothing was removed from record ${from} on. ${reason}.`, { cause: error });
  }
}

/** Yields lines up to the first whole tile that fills a file. @throws LedgerCorruptError for a missing record */
async function* linesOf(
  sql: Sql,
  { channel, network }: { channel: string; network: string },
  { from, until }: { from: number; until: number },
): AsyncGenerator<string> {
  const end = Math.min(until, from + STRETCH_RECORDS);
  let bytes = 0;
  for (let at = from; at < end && !(at % TILE_WIDTH === 0 && bytes >= STRETCH_BYTES);) {
    const tileEnd = Math.min(end, at - (at % TILE_WIDTH) + TILE_WIDTH);
    const statement = {
      text: 'SELECT * FROM ledger.archive_rows($1, $2, $3, $4)',
      values: [channel, at, tileEnd, PAGE_BYTES],
    };
    const lines: string[] = [];
    for (const row of await readLedger<ContentRow>(sql, statement, READ_WITHIN_MS)) {
      if (Number(row.idx) !== at) break;
      lines.push(archivedLine(recordOfRow(row, { channel, network })));
      at += 1;
    }
    if (lines.length === 0) throw new LedgerCorruptError(channel, `record ${at} is missing: audit the channel`);
    const chunk = lines.join('');
    bytes += chunk.length;
    yield chunk;
  }
}

/** The tree of the first `size` leaves, built from the tiles in the database. */
async function treeAt(sql: Sql, channel: string, size: number): Promise<TileTree> {
  const levels = Array.from({ length: 7 }, (_, level) => level);
  const edge = levels.flatMap((level) => {
    const index = Math.floor(size / TILE_WIDTH ** (level + 1));
    const width = tileWidth(level, index, size);
    return width === 0 ? [] : [{ level, index, width }];
  });
  const hashes = edge.length === 0 ? [] : await tileReader(sql, channel, READ_WITHIN_MS)(edge);
  return TileTree.from(
    size,
    edge.map((tile, position) => ({ ...tile, hashes: hashes[position]! })),
  );
}

async function continues(sql: Sql, channel: string, older: Checkpoint, newer: Checkpoint): Promise<boolean> {
  if (older.size > newer.size) return false;
  const path = await consistencyPath(older.size, newer.size, tileReader(sql, channel, READ_WITHIN_MS));
  const sizes = { oldSize: older.size, newSize: newer.size };
  return verifyConsistency({ ...sizes, oldRoot: older.root, newRoot: newer.root, path });
}

/** File system errors: the disk is full, the folder is missing, not ours or read-only. */
const isFileSystemError = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'syscall' in error && !(error instanceof DatabaseUnavailableError);
