import type { DataFolder } from './data-folder.ts';
import type { RunningProcess } from './lock.ts';
import type { Secrets } from './secrets.ts';
import type { StartOptions } from './start-options.ts';
import type { Surface } from './surface.ts';

/** A process whose exit is reported. */
export interface Watched {
  readonly name: string;
  readonly logFile: string;
  /** How it exited, in words. Never rejects. */
  readonly ended: Promise<string>;
}

/** State shared by the steps of one start. */
export interface StartContext {
  readonly options: StartOptions;
  /** The surfaces to run, in start order. */
  readonly surfaces: readonly Surface[];
  readonly env: NodeJS.ProcessEnv;
  readonly data: DataFolder;
  readonly secrets: Secrets;
  readonly stack: ReleaseStack;
  readonly signal: AbortSignal;
  tell(line: string): void;
  watch(watched: Watched): void;
  /** Writes the run file at once, so that the next start can stop the process if this one is killed. */
  remember(process: RunningProcess): void;
}

/** Opened resources, released in reverse order. A failed release does not prevent the others. */
interface ReleaseStack {
  own(name: string, release: () => Promise<void> | void): void;
  /** Returns the failed releases with their errors. Idempotent. */
  releaseAll(): Promise<readonly { readonly name: string; readonly error: unknown }[]>;
}

export function releaseStack(): ReleaseStack {
  const owned: { name: string; release: () => Promise<void> | void }[] = [];
  return {
    own: (name, release) => void owned.push({ name, release }),
    releaseAll: async () => {
      const failures: { name: string; error: unknown }[] = [];
      for (let next = owned.pop(); next !== undefined; next = owned.pop()) {
        try {
          await next.release();
        } catch (error) {
          failures.push({ name: next.name, error });
        }
      }
      return failures;
    },
  };
}
