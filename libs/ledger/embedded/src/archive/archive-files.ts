import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { receiptLeaf } from '@sealgate/envelope';
import { parseChannel } from '@sealgate/ledger-port';
import { tilePath, type Tile, type TileId } from '@sealgate/merkle';
import { type ArchivedRecord, type ArchivedStretch, ArchiveFileError, checkedRecord } from './archived-record.ts';

export { ArchiveFileError, archivedLine, type ArchivedRecord } from './archived-record.ts';

/** A records file that was written under a temporary name, synced and read back. */
export interface Draft {
  /** The concatenated leaf hashes of the records read back. */
  readonly leaves: Buffer;
  /** Indexes of records without content. */
  readonly erased: readonly number[];
  /** Renames the file to its final name and syncs the folder. */
  keep(stretch: ArchivedStretch): Promise<void>;
}

const DRAFT = '.new';
const STRETCH_NAME = /^(\d{12})-(\d{12})\.ndjson$/;
/** Larger than the largest record any surface accepts, including its hashes. */
const LINE_MAX_BYTES = 33_554_432;
const NEWLINE = 0x0a;

/**
 * The files of an archive, one folder per channel (see infra/decisions/0007-archived-records.md):
 *
 * - `checkpoint`: a C2SP checkpoint over the archived records, starting with the first
 * - `tile/...`: their tree, laid out as in C2SP tlog-tiles
 * - `records/<from>-<until>.ndjson`: one record per line as canonical JSON, ordered by index
 *
 * Each file is replaced atomically: written under a temporary name, synced, renamed.
 */
export class ArchiveFiles {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Writes `lines` (each with its newline) to a temporary file and reads them back. @throws ArchiveFileError */
  async draft(channel: string, from: number, lines: AsyncIterable<string>): Promise<Draft> {
    const folder = join(this.#folder(channel), 'records');
    const path = join(folder, `${nameOf(from)}${DRAFT}`);
    await makeFolder(folder);
    await writeSynced(path, lines);
    const { leaves, erased } = await readBack(path, { channel, from });
    const keep = async (stretch: ArchivedStretch) => {
      await rename(path, this.#path(channel, stretch));
      await syncFolder(folder);
    };
    return { leaves, erased, keep };
  }

  /** Yields the records of a file in order, each verified against its hashes. @throws ArchiveFileError for a bad one */
  async *records(channel: string, stretch: ArchivedStretch): AsyncGenerator<ArchivedRecord> {
    const path = this.#path(channel, stretch);
    let index = stretch.from;
    for await (const line of linesOf(path)) {
      yield checkedRecord(line, { path, channel, index });
      index += 1;
    }
    if (index !== stretch.until)
      throw new ArchiveFileError(`${path}: the end is missing, from record ${index} to ${stretch.until - 1}`, {
        index,
      });
  }

  /** Reads only the records at these indexes; lines between them are not verified. @throws ArchiveFileError */
  async pick(
    channel: string,
    stretch: ArchivedStretch,
    indexes: ReadonlySet<number>,
  ): Promise<Map<number, ArchivedRecord>> {
    const path = this.#path(channel, stretch);
    const found = new Map<number, ArchivedRecord>();
    let index = stretch.from;
    for await (const line of linesOf(path)) {
      if (indexes.has(index)) found.set(index, checkedRecord(line, { path, channel, index }));
      if (found.size === indexes.size) return found;
      index += 1;
    }
    throw new ArchiveFileError(`${path}: the end is missing, from record ${index} on`, { index });
  }

  /** The contiguous files of a channel, starting at the first record. */
  async stretches(channel: string): Promise<readonly ArchivedStretch[]> {
    const names = await listFolder(join(this.#folder(channel), 'records'));
    const stretches: ArchivedStretch[] = [];
    for (const name of names.sort()) {
      const [, from, until] = STRETCH_NAME.exec(name) ?? [];
      if (Number(from) === (stretches.at(-1)?.until ?? 0)) stretches.push({ from: Number(from), until: Number(until) });
    }
    return stretches;
  }

  /** Checks that the files cover every record below `until` and that one ends there. @throws ArchiveFileError */
  async assertReaches(channel: string, until: number): Promise<void> {
    const stretches = await this.stretches(channel);
    if (stretches.some((stretch) => stretch.until === until)) return;
    const there = stretches.at(-1)?.until ?? 0;
    const missing = there < until ? ` from record ${there} on` : '';
    throw new ArchiveFileError(
      `${this.#folder(channel)} does not hold the ${until} records that are archived: files are missing${missing}`,
    );
  }

  /** Checks that the folder belongs to the log that has these tiles. @throws ArchiveFileError */
  async assertHolds(channel: string, tiles: readonly Tile[]): Promise<void> {
    for (const tile of tiles) {
      if ((await this.tile(channel, tile)).equals(tile.hashes)) continue;
      throw new ArchiveFileError(`${this.#folder(channel)} is of another log: its ${tilePath(tile)} is not ours`);
    }
  }

  /** Writes or replaces each tile at its C2SP path. */
  async writeTiles(channel: string, tiles: readonly Tile[]): Promise<void> {
    const paths = tiles.map((tile) => join(this.#folder(channel), tilePath(tile)));
    const folders = new Set(paths.map((path) => dirname(path)));
    for (const folder of folders) await makeFolder(folder);
    await Promise.all(tiles.map(({ hashes }, position) => replaceFile(paths[position]!, hashes)));
    for (const folder of folders) await syncFolder(folder);
  }

  async writeCheckpoint(channel: string, note: string): Promise<void> {
    await makeFolder(this.#folder(channel));
    await replaceFile(join(this.#folder(channel), 'checkpoint'), note);
    await syncFolder(this.#folder(channel));
  }

  /** @throws ArchiveFileError where there is none. */
  async checkpoint(channel: string): Promise<string> {
    return (await this.#read(join(this.#folder(channel), 'checkpoint'))).toString('utf8');
  }

  /** The same; undefined if it cannot be read. */
  async readableCheckpoint(channel: string): Promise<string | undefined> {
    try {
      return await this.checkpoint(channel);
    } catch (error) {
      if (error instanceof ArchiveFileError) return undefined;
      throw error;
    }
  }

  /** @throws ArchiveFileError where there is none. */
  async tile(channel: string, tile: TileId): Promise<Buffer> {
    return this.#read(join(this.#folder(channel), tilePath(tile)));
  }

  /**
   * Removes what an incomplete attempt left behind: drafts, and files of records from `from` on, which are all still in
   * the table.
   *
   * @throws ArchiveFileError for a file of records beyond `size`: the table never had them, or lost them.
   */
  async clear(channel: string, { from, size }: { from: number; size: number }): Promise<void> {
    const folder = join(this.#folder(channel), 'records');
    for (const name of await listFolder(folder)) {
      const [, , until] = STRETCH_NAME.exec(name) ?? [];
      if (Number(until ?? 0) > size) {
        throw new ArchiveFileError(`${join(folder, name)} holds records beyond the ${size} that the database has`);
      }
      if (Number(until ?? 0) > from || name.endsWith(DRAFT)) await rm(join(folder, name), { force: true });
    }
  }

  /** The channels that have a folder. */
  async channels(): Promise<readonly string[]> {
    return (await listFolder(this.#directory)).filter((name) => parseChannel(name) !== undefined);
  }

  /** What is stored beyond the first `archived` records: whole files in order; `some` if there are files or drafts. */
  async remains(channel: string, archived: number): Promise<{ some: boolean; stretches: readonly ArchivedStretch[] }> {
    const names = (await listFolder(join(this.#folder(channel), 'records'))).sort();
    const stretches = names.flatMap((name) => {
      const [, from, until] = STRETCH_NAME.exec(name) ?? [];
      return Number(until ?? 0) > archived ? [{ from: Number(from), until: Number(until) }] : [];
    });
    return { some: stretches.length > 0 || names.some((name) => name.endsWith(DRAFT)), stretches };
  }

  async removeDrafts(channel: string): Promise<void> {
    const folder = join(this.#folder(channel), 'records');
    const drafts = (await listFolder(folder)).filter((name) => name.endsWith(DRAFT));
    for (const name of drafts) await rm(join(folder, name), { force: true });
  }

  #path(channel: string, { from, until }: ArchivedStretch): string {
    return join(this.#folder(channel), 'records', `${nameOf(from)}-${nameOf(until)}.ndjson`);
  }

  #folder(channel: string): string {
    // A channel name must not act as a path.
    if (parseChannel(channel) === undefined) throw new ArchiveFileError(`${channel} is not a channel name`);
    return join(this.#directory, channel);
  }

  async #read(path: string): Promise<Buffer> {
    try {
      return await readFile(path);
    } catch (cause) {
      throw new ArchiveFileError(`${path} cannot be read (${codeOf(cause)})`, { cause });
    }
  }
}

async function readBack(path: string, { channel, from }: { channel: string; from: number }) {
  const leaves: Buffer[] = [];
  const erased: number[] = [];
  for await (const line of linesOf(path)) {
    const record = checkedRecord(line, { path, channel, index: from + leaves.length });
    leaves.push(receiptLeaf(record));
    if (record.salt === null) erased.push(record.index);
  }
  return { leaves: Buffer.concat(leaves), erased };
}

/** The lines of a file without their newlines. @throws ArchiveFileError */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 32_768 }) as AsyncIterable<Buffer>) {
      let at = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, at)) {
        yield Buffer.concat([...rest, chunk.subarray(at, end)]);
        [rest, restBytes, at] = [[], 0, end + 1];
      }
      rest.push(chunk.subarray(at));
      restBytes += chunk.length - at;
      if (restBytes > LINE_MAX_BYTES) throw new ArchiveFileError(`${path} has a line of over ${LINE_MAX_BYTES} bytes`);
    }
  } catch (cause) {
    if (cause instanceof ArchiveFileError) throw cause;
    throw new ArchiveFileError(`${path} cannot be read (${codeOf(cause)})`, { cause });
  }
  if (restBytes > 0) throw new ArchiveFileError(`${path} ends within a line`);
}

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code ?? error);

const nameOf = (index: number): string => String(index).padStart(12, '0');

async function replaceFile(path: string, content: string | Buffer): Promise<void> {
  await writeSynced(`${path}${DRAFT}`, [content]);
  await rename(`${path}${DRAFT}`, path);
}

/** Writes and syncs a file; removes it again if it cannot be written completely. */
async function writeSynced(path: string, chunks: AsyncIterable<string> | Iterable<string | Buffer>): Promise<void> {
  const file = await open(path, 'w', 0o640);
  try {
    for await (const chunk of chunks) await file.appendFile(chunk);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Creates a folder and its parents, and syncs each new directory entry. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o750 });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function listFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
