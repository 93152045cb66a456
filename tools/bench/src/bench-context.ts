import type { LocalPostgres } from '@sealgate/local-services';
import type { BenchOptions } from './bench-options.ts';
import type { Generator } from './load/generator-process.ts';
import type { Machine } from './machine.ts';
import type { ReleaseStack } from './release-stack.ts';

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
  /** Prints one line of progress. */
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}
