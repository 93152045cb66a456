import type { RowScope, Scope } from './caller.ts';
import type { EvidenceState } from './evidence.ts';
import type { Role } from './permissions.ts';

/** The number of risks with one likelihood and impact. */
export interface HeatMapCell {
  readonly rated: 'inherent' | 'current' | 'residual';
  readonly likelihood: number;
  readonly impact: number;
  readonly count: number;
}

export interface FrameworkWithRequirements {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly createdAt: string;
  /** In the given order. */
  readonly requirements: readonly { readonly id: string; readonly title: string }[];
}

export interface Member {
  readonly id: string;
  readonly name: string;
  readonly kind: 'human' | 'machine';
  readonly roles: readonly Role[];
  readonly scope: Scope;
}

/** Aggregates for the dashboard: each is one statement with the default deadline. */
export interface Summaries {
  /** Visible risks that are neither closed nor archived. */
  heatMap(scope: RowScope): Promise<HeatMapCell[]>;
  /** The number of visible evidence rows per state at a time, without states that have none. */
  evidenceStates(scope: RowScope, nowMs: number): Promise<ReadonlyMap<EvidenceState, number>>;
  framework(orgId: string, id: string): Promise<FrameworkWithRequirements | undefined>;
  /** Ordered by id, after `after`, without removed people. */
  people(orgId: string, page: { readonly limit: number; readonly after: string }): Promise<Member[]>;
}

/** Who has to act on evidence in a state: its owner, its collector, or a reviewer; null: nobody. */
export const ACTS_NEXT: Readonly<Record<EvidenceState, 'owner' | 'collector' | 'reviewer' | null>> = {
  requested: 'owner',
  collected: 'collector',
  in_review: 'reviewer',
  rejected: 'owner',
  expiring: 'owner',
  expired: 'owner',
  ...{ approved: null, superseded: null, revoked: null, not_applicable: null },
};
