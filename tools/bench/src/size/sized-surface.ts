import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import type { RowLoad } from '../rows/row.ts';
import type { MeasuredSurface } from '../surfaces/build-surfaces.ts';
import type { Site } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import type { Amounts } from './amounts.ts';
import type { CostTarget } from './size-cost.ts';

/** What a surface is filled with, and what is asked of it afterwards. */
export interface SizedSurface {
  readonly surface: MeasuredSurface;
  prepare(context: BenchContext, options: { readonly name: string; readonly stack: ReleaseStack }): Promise<Site>;
  fill(at: FillAt): Promise<FilledSurface>;
}

export interface FillAt {
  readonly context: BenchContext;
  readonly site: Site;
  /** The process whose doors are used. */
  readonly surface: Surface;
  readonly amounts: Amounts;
}

/** A filled database. Each call names the process that answers, since processes come and go. */
export interface FilledSurface {
  readonly weights: readonly Weight[];
  /** What the surface's own audits find wrong, as sentences. */
  faults(surface: Surface): Promise<readonly string[]>;
  loads(surface: Surface): readonly SizedLoad[] | Promise<readonly SizedLoad[]>;
  works(surface: Surface): readonly SizedWork[];
  lists(surface: Surface): readonly Asking[];
}

/** The tables that hold one kind of thing, as named or as the beginning of their names, and how many things there are. */
export interface Weight {
  readonly what: string;
  readonly tables: readonly string[];
  readonly rows: number;
}

/** A request that is repeated. */
export interface SizedLoad {
  readonly what: string;
  readonly load: RowLoad;
  /** In a round. */
  readonly requests: number;
  /** CPU of all servers is the cost of what is written by many at once; one who looks waits. */
  readonly unit: 'us of CPU' | 'ms';
  readonly target: CostTarget | undefined;
}

/** Something that is done as a whole. */
export interface SizedWork {
  readonly what: string;
  readonly unit: string;
  readonly target: CostTarget | undefined;
  /** Returns the cost in the unit. */
  run(): Promise<number>;
}

/** Paths that one caller asks for. */
export interface Asking {
  readonly who: string;
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly paths: readonly string[];
}
