import type { RowScope } from './caller.ts';
import type { EvidenceState } from './evidence.ts';
import type { Framework } from './manage-frameworks.ts';
import type { FormerRating } from './resource.ts';

/** The number of risks with one likelihood and impact. */
export interface HeatMapCell {
  readonly rated: 'inherent' | 'current' | 'residual';
  readonly likelihood: number;
  readonly impact: number;
  readonly count: number;
}

/** By how many visible open risks with a current rating there were more after a month than before it; null: all today. */
export interface RatingChange {
  readonly month: Date | null;
  readonly likelihood: number;
  readonly impact: number;
  readonly count: number;
}

/** One change of the current rating of a risk. */
export interface ScoreChange {
  /** RFC 3339. */
  readonly at: string;
  /** Of the risk, as the change made it. */
  readonly version: number;
  readonly from: Omit<FormerRating, 'until'>;
  readonly to: Omit<FormerRating, 'until'>;
}

/** How many requirements of a framework were in each state at the end of a month. */
export interface FrameworkMonth {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly month: Date;
  readonly covered: number;
  readonly partial: number;
  readonly gap: number;
  readonly notApplicable: number;
}

/** Aggregates for the dashboard: each is one statement with the default deadline. */
export interface Summaries {
  /** Visible risks that are neither closed nor archived. */
  heatMap(scope: RowScope): Promise<HeatMapCell[]>;
  /** The number of visible open risks by current rating, and its changes in the months from `since` on. */
  ratings(scope: RowScope, since: Date): Promise<RatingChange[]>;
  /** Those that are kept of a risk, newest first; undefined if there is no such risk that the caller may see. */
  scoreChanges(scope: RowScope, id: string): Promise<ScoreChange[] | undefined>;
  /** The number of visible evidence rows per state at a time, without states that have none. */
  evidenceStates(scope: RowScope, nowMs: number): Promise<ReadonlyMap<EvidenceState, number>>;
  /** Coverage at the end of each of these months, of which the last is now; by framework, then by month. */
  coverageTrend(
    scope: RowScope,
    months: { readonly begins: readonly Date[]; readonly now: Date; readonly next: Date },
  ): Promise<FrameworkMonth[]>;
  framework(orgId: string, id: string): Promise<Framework | undefined>;
}
