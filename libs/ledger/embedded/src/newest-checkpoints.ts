import type { Checkpoint } from '@sealgate/merkle';
import type { SignedCheckpoint } from './compare-channels.ts';
import type { SavedCheckpoints } from './saved-checkpoints.ts';

/** The newest checkpoint that this process knows of each log: what it continues, and what is kept outside the database. */
export class NewestCheckpoints {
  readonly #saved: SavedCheckpoints;
  /** Null where there was none yet. */
  readonly #newest = new Map<string, Checkpoint | null>();

  constructor(saved: SavedCheckpoints) {
    this.#saved = saved;
  }

  /** Whether the log was looked at before. */
  has(log: string): boolean {
    return this.#newest.has(log);
  }

  get(log: string): Checkpoint | undefined {
    return this.#newest.get(log) ?? undefined;
  }

  /** What was read of the database. What this process signed meanwhile may be newer. */
  read(log: string, checkpoint: Checkpoint | undefined): void {
    const known = this.#newest.get(log);
    const isNewer = checkpoint !== undefined && (known == null || known.size < checkpoint.size);
    this.#newest.set(log, isNewer ? checkpoint : (known ?? null));
  }

  /** Of a log that ended. Should the database take it up again, it is looked at as for the first time. */
  forget(log: string): void {
    this.#newest.delete(log);
  }

  /** Resolves when the note is on disk. Where that fails it is not known either, so that the next comparison finds it. */
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
   * Keeps what the database holds beyond what is kept: a crash or a full disk came before its file, or another process with
   * a folder of its own signed it. What this process has signed it has saved, or is saving.
   */
  async keep(log: string, signed: SignedCheckpoint): Promise<void> {
    if ((this.get(log)?.size ?? 0) < signed.checkpoint.size) await this.save(log, signed);
  }
}
