import type { RowScope, Scope } from './caller.ts';
import type { EvidenceState } from './evidence.ts';
import type { Role } from './permissions.ts';

/** How many risks have a likelihood and an impact. */
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
  /** In the order in which they were given. */
  readonly requirements: readonly { readonly id: string; readonly title: string }[];
}

export interface Member {
  readonly id: string;
  readonly name: string;
  readonly kind: 'human' | 'machine';
  readonly roles: readonly Role[];
  readonly scope: Scope;
}

/** Reads for the dashboard that are no rows: each is one statement, under the deadline of the database. */
export interface Summaries {
  /** Risks that are neither closed nor archived, of those that the scope lets see. */
  heatMap(scope: RowScope): Promise<HeatMapCell[]>;
  /** How much evidence is in each state at a moment, of what the scope lets see; states without any are left out. */
  evidenceStates(scope: RowScope, nowMs: number): Promise<ReadonlyMap<EvidenceState, number>>;
  framework(orgId: string, id: string): Promise<FrameworkWithRequirements | undefined>;
  /** In the order of their ids, those behind `after`; who was removed is left out. */
  people(orgId: string, page: { readonly limit: number; readonly after: string }): Promise<Member[]>;
}

/** Who has to act on evidence in a state: whoever owns it, collected it, or reviews it; null: nobody. */
export const ACTS_NEXT: Readonly<Record<EvidenceState, 'owner' | 'collector' | 'reviewer' | null>> = {
  requested: 'owner',
  collected: 'collector',
  in_review: 'reviewer',
  rejected: 'owner',
  expiring: 'owner',
  expired: 'owner',
  ...{ approved: null, superseded: null, revoked: null, not_applicable: null },
};
