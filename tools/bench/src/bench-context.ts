import type { LocalPostgres } from '@sealgate/local-services';
import type { BenchOptions } from './bench-options.ts';
import type { Generator } from './load/generator.ts';
import type { Machine } from './machine.ts';

/** Input of every section. */
export interface BenchContext {
  readonly options: BenchOptions;
  /** A folder of this run for logs, checkpoints and profiles. Removed at the end. */
  readonly folder: string;
  readonly machine: Machine;
  /** PostgreSQL's settings, as it reports them. */
  readonly settings: Readonly<Record<string, string>>;
  readonly postgres: LocalPostgres;
  /** Undefined where this machine has no redis-server. */
  readonly redis: { readonly url: string; readonly pid: number } | undefined;
  readonly generator: Generator;
  /** Released when the run ends, in any case. A section has a stack of its own for its own resources. */
  readonly stack: ReleaseStack;
  /** A pause after each round, so that a server's background work (integrating, logging) does not affect the next. */
  readonly settle: () => Promise<unknown>;
  /** Prints one line of progress. */
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Opened resources, released in reverse order. */
export interface ReleaseStack {
  own(name: string, release: () => Promise<void> | void): void;
  /** Continues when a release fails, and returns the names of those that did. Idempotent. */
  releaseAll(): Promise<string[]>;
}

export function releaseStack(): ReleaseStack {
  const owned: { name: string; release: () => Promise<void> | void }[] = [];
  return {
    own: (name, release) => void owned.push({ name, release }),
    async releaseAll() {
      const failed: string[] = [];
      for (let last = owned.pop(); last !== undefined; last = owned.pop()) {
        try {
          await last.release();
        } catch (error) {
          failed.push(`${last.name} (${error instanceof Error ? error.message : String(error)})`);
        }
      }
      return failed;
    },
  };
}
