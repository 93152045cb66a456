import type { DataFolder } from './data-folder.ts';
import type { ReleaseStack } from './release-stack.ts';
import type { RunningProcess } from './run-file.ts';
import type { Secrets } from './secrets.ts';
import type { StartOptions } from './start-options.ts';
import type { Surface } from './surface.ts';

/** Something that runs and whose end is to be told. */
export interface Watched {
  readonly name: string;
  readonly logFile: string;
  /** How it ended, in words. Never rejects. */
  readonly ended: Promise<string>;
}

/** What the steps of one start share. */
export interface StartContext {
  readonly options: StartOptions;
  /** Those that run, in the order in which they start. */
  readonly surfaces: readonly Surface[];
  readonly env: NodeJS.ProcessEnv;
  readonly data: DataFolder;
  readonly secrets: Secrets;
  readonly stack: ReleaseStack;
  readonly signal: AbortSignal;
  tell(line: string): void;
  watch(watched: Watched): void;
  /** Writes the process down at once, so that the next start can end it should this one be killed. */
  remember(process: RunningProcess): void;
}
