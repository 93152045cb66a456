import type { LocalPostgres } from '@sealgate/local-services';
import type { BenchOptions } from './bench-options.ts';
import type { Generator } from './load/generator-process.ts';
import type { Machine } from './machine.ts';
import type { ReleaseStack } from './release-stack.ts';

/** What every section is given. */
export interface BenchContext {
  readonly options: BenchOptions;
  /** A folder of this run: logs, checkpoints, profiles. Removed at the end. */
  readonly folder: string;
  readonly machine: Machine;
  /** Of PostgreSQL, as it tells them. */
  readonly settings: Readonly<Record<string, string>>;
  readonly postgres: LocalPostgres;
  /** Undefined where this machine has no redis-server. */
  readonly redis: { readonly url: string; readonly pid: number } | undefined;
  readonly generator: Generator;
  /** Released when the run ends, however it ends. A section has a stack of its own for what only it needs. */
  readonly stack: ReleaseStack;
  /** One line about what goes on now. */
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}
