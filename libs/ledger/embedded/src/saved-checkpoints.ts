import { mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Checkpoints kept outside the database, because a database that was rolled back as a whole can be told from a young
 * one by nothing inside it. Append-only files, one a day and channel: `<directory>/<channel>/<YYYY-MM-DD>.ndjson`,
 * one line `{"savedAt", "note"}` a checkpoint. Files of past days may be moved away by an operator, never edited.
 */
export interface SavedCheckpoints {
  /** The newest note kept for the channel, or undefined. */
  newest(channel: string): Promise<string | undefined>;
  /** Resolves when the note is on disk. */
  save(channel: string, note: string): Promise<void>;
}

/** The last line of a day's file is looked for in its last bytes: a line is a few hundred of them. */
const TAIL_BYTES = 65_536;

export function savedCheckpoints(directory: string, now: () => number): SavedCheckpoints {
  return {
    async newest(channel) {
      const files = (await listFiles(join(directory, channel))).sort().reverse();
      for (const file of files) {
        const note = await lastNote(join(directory, channel, file));
        if (note !== undefined) return note;
      }
      return undefined;
    },
    async save(channel, note) {
      const savedAt = new Date(now()).toISOString();
      const folder = join(directory, channel);
      await mkdir(folder, { recursive: true });
      const file = await open(join(folder, `${savedAt.slice(0, 10)}.ndjson`), 'a', 0o644);
      try {
        await file.appendFile(`${JSON.stringify({ savedAt, note })}\n`);
        await file.datasync();
      } finally {
        await file.close();
      }
    },
  };
}

async function listFiles(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith('.ndjson'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A line that a crash cut short is no note: the one before it is the newest. */
async function lastNote(path: string): Promise<string | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    const lines = buffer.subarray(0, bytesRead).toString('utf8').split('\n').reverse();
    return lines.map(noteOf).find((note) => note !== undefined);
  } finally {
    await file.close();
  }
}

function noteOf(line: string): string | undefined {
  try {
    const { note } = JSON.parse(line) as { note?: unknown };
    return typeof note === 'string' ? note : undefined;
  } catch {
    return undefined;
  }
}
