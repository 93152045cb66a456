import { mkdir, open, readdir, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseLogName } from '@sealgate/envelope';
import { parseChannel } from '@sealgate/ledger-port';
import type { Checkpoint } from '@sealgate/merkle';

export interface SignedCheckpoint {
  readonly note: string;
  readonly checkpoint: Checkpoint;
}

/**
 * Checkpoints kept outside the database, because nothing inside a database that was rolled back as a whole
 * distinguishes it from a young one. Append-only files, one per day and log:
 * `<directory>/<channel>/<YYYY-MM-DD>.ndjson`, after a declared loss
 * `<directory>/<channel>/e<epoch>/<YYYY-MM-DD>.ndjson`, one line `{"savedAt", "note"}` per checkpoint. An operator may
 * move files of past days away, but never edit them.
 */
export interface SavedCheckpoints {
  /** The channels that have a folder. */
  channels(): Promise<readonly string[]>;
  /** The epochs of the channel that have a folder; 0 is the channel's own. */
  epochs(channel: string): Promise<readonly number[]>;
  /** The newest note kept for the log, or undefined. */
  newest(log: string): Promise<string | undefined>;
  /** All notes kept for the log, newest first, read lazily. */
  notes(log: string): AsyncIterable<string>;
  /** The checkpoint of the channel's archive, which is outside the database, too; undefined if it cannot be read. */
  archived(channel: string): Promise<string | undefined>;
  /** Resolves when the note is on disk. */
  save(log: string, note: string): Promise<void>;
}

/** Files are read backwards in blocks; a line is a few hundred bytes. */
const BLOCK_BYTES = 65_536;

/** `archived` reads the checkpoint of a channel's archive, if this process has one. */
export function savedCheckpoints(
  directory: string,
  now: () => number,
  archived: SavedCheckpoints['archived'] = () => Promise.resolve(undefined),
): SavedCheckpoints {
  async function* notes(log: string) {
    const folder = join(directory, log);
    const files = (await listFolder(folder)).filter((name) => name.endsWith('.ndjson'));
    for (const file of files.sort().reverse()) yield* notesIn(join(folder, file));
  }
  return {
    channels: async () => (await listFolder(directory)).filter((name) => parseChannel(name) !== undefined).sort(),
    async epochs(channel) {
      const names = await listFolder(join(directory, channel));
      const later = names.flatMap((name) => parseLogName(`${channel}/${name}`)?.epoch ?? []);
      return [...(names.length === 0 ? [] : [0]), ...later].sort((one, other) => one - other);
    },
    async newest(log) {
      for await (const note of notes(log)) return note;
      return undefined;
    },
    notes,
    archived,
    async save(log, note) {
      const savedAt = new Date(now()).toISOString();
      const file = await openToAppend(join(directory, log, `${savedAt.slice(0, 10)}.ndjson`));
      try {
        await file.appendFile(`${JSON.stringify({ savedAt, note })}\n`);
        await file.datasync();
      } finally {
        await file.close();
      }
    },
  };
}

/** Creates the folder with the first note of a log. */
async function openToAppend(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'a', 0o644);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await mkdir(dirname(path), { recursive: true });
    return open(path, 'a', 0o644);
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

/** Yields notes newest first. A line cut short by a crash is skipped. */
async function* notesIn(path: string): AsyncIterable<string> {
  const file = await open(path, 'r');
  try {
    for await (const line of linesFromEnd(file)) {
      const note = noteOf(line);
      if (note !== undefined) yield note;
    }
  } finally {
    await file.close();
  }
}

async function* linesFromEnd(file: FileHandle): AsyncIterable<string> {
  let { size: end } = await file.stat();
  let rest = Buffer.alloc(0);
  while (end > 0) {
    const from = Math.max(0, end - BLOCK_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - from), 0, end - from, from);
    end = from;
    let block = Buffer.concat([buffer.subarray(0, bytesRead), rest]);
    for (let at = block.lastIndexOf(0x0a); at >= 0; at = block.lastIndexOf(0x0a)) {
      yield block.subarray(at + 1).toString('utf8');
      block = block.subarray(0, at);
    }
    rest = block;
  }
  yield rest.toString('utf8');
}

function noteOf(line: string): string | undefined {
  try {
    const { note } = JSON.parse(line) as { note?: unknown };
    return typeof note === 'string' ? note : undefined;
  } catch {
    return undefined;
  }
}

/** The newest checkpoint of each log known to this process: the one to continue, and to keep outside the database. */
export class NewestCheckpoints {
  readonly #saved: SavedCheckpoints;
  /** Null if the log has no checkpoint yet. */
  readonly #newest = new Map<string, Checkpoint | null>();

  constructor(saved: SavedCheckpoints) {
    this.#saved = saved;
  }

  /** Whether the log is known to this process. */
  has(log: string): boolean {
    return this.#newest.has(log);
  }

  get(log: string): Checkpoint | undefined {
    return this.#newest.get(log) ?? undefined;
  }

  /** Takes over a checkpoint read from the database, unless this process has signed a newer one meanwhile. */
  read(log: string, checkpoint: Checkpoint | undefined): void {
    const known = this.#newest.get(log);
    const isNewer = checkpoint !== undefined && (known == null || known.size < checkpoint.size);
    this.#newest.set(log, isNewer ? checkpoint : (known ?? null));
  }

  /** Forgets a log that ended. If the database continues it after all, it is compared like a new one. */
  forget(log: string): void {
    this.#newest.delete(log);
  }

  /** Resolves when the note is on disk. On failure the log is forgotten, so that the next comparison saves it. */
  async save(log: string, { note, checkpoint }: SignedCheckpoint): Promise<void> {
    this.#newest.set(log, checkpoint);
    try {
      await this.#saved.save(log, note);
    } catch (error) {
      this.#newest.delete(log);
      throw error;
    }
  }

  /**
   * Saves a checkpoint of the database that is newer than the kept ones: a crash or a full disk prevented its file, or
   * another process with its own folder signed it. Checkpoints signed by this process are saved already, or being
   * saved.
   */
  async keep(log: string, signed: SignedCheckpoint): Promise<void> {
    if ((this.get(log)?.size ?? 0) < signed.checkpoint.size) await this.save(log, signed);
  }
}
