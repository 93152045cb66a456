import type { Checkpoint } from '@sealgate/merkle';
import type { SignedCheckpoint } from './compare-channels.ts';
import type { SavedCheckpoints } from './saved-checkpoints.ts';

/** The newest checkpoint that this process knows of each channel: what it continues, and what is kept outside the database. */
export class NewestCheckpoints {
  readonly #saved: SavedCheckpoints;
  /** Null where there was none yet. */
  readonly #newest = new Map<string, Checkpoint | null>();

  constructor(saved: SavedCheckpoints) {
    this.#saved = saved;
  }

  /** Whether the channel was looked at before. */
  has(channel: string): boolean {
    return this.#newest.has(channel);
  }

  get(channel: string): Checkpoint | undefined {
    return this.#newest.get(channel) ?? undefined;
  }

  /** What was read of the database. What this process signed meanwhile may be newer. */
  read(channel: string, checkpoint: Checkpoint | undefined): void {
    const known = this.#newest.get(channel);
    const isNewer = checkpoint !== undefined && (known == null || known.size < checkpoint.size);
    this.#newest.set(channel, isNewer ? checkpoint : (known ?? null));
  }

  /** Resolves when the note is on disk. Where that fails it is not known either, so that the next comparison finds it. */
  async save(channel: string, { note, checkpoint }: SignedCheckpoint): Promise<void> {
    this.#newest.set(channel, checkpoint);
    try {
      await this.#saved.save(channel, note);
    } catch (error) {
      this.#newest.delete(channel);
      throw error;
    }
  }

  /**
   * Keeps what the database holds beyond what is kept: a crash or a full disk came before its file, or another process with
   * a folder of its own signed it. What this process has signed it has saved, or is saving.
   */
  async keep(channel: string, signed: SignedCheckpoint): Promise<void> {
    if ((this.get(channel)?.size ?? 0) < signed.checkpoint.size) await this.save(channel, signed);
  }
}
