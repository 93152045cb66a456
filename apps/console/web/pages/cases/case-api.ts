import type { Schemas } from '@sealgate/client';

type Admin = Schemas['caseGateAdmin'];
type Public = Schemas['caseGate'];

export type Policy = Admin['Policy'];
export type PolicyRules = Admin['PolicyRules'];
export type Eligibility = Admin['Eligibility'];
export type Venue = Admin['Venue'];
export type Outcome = Admin['Outcome'];
export type LoggedDecision = Admin['LoggedDecision'];
export type TimelineEntry = Public['TimelineEntry'];
export type CaseStatus = Public['CaseStatus'];
export type NewAttachment = Public['NewAttachment'];

/** A case as the lists of the admin listener have it. */
export type ListedCase = Public['Case'] & {
  readonly case_type: string;
  readonly external_ref: string | null;
  readonly requested_policy_version: string | null;
};

export type CaseDetail = ListedCase & {
  readonly metadata: Readonly<Record<string, string>>;
  readonly attachments: readonly (NewAttachment & { readonly attachment_id: string; readonly added_at: string })[];
  readonly decisions: readonly {
    readonly decision_id: string;
    readonly policy_version: string;
    readonly decision: Outcome;
    readonly is_final: boolean;
    readonly reason_codes: readonly string[];
    readonly valid_until: string | null;
    readonly decided_at: string;
    readonly decided_by: string | null;
  }[];
  readonly seals: readonly {
    readonly policy_version: string;
    readonly ledger_record_id: string;
    readonly seal_hash: string;
    readonly status: string;
    readonly sealed_at: string | null;
  }[];
};

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

export interface CaseCounts {
  readonly states: readonly {
    readonly status: CaseStatus;
    readonly count: number;
    readonly oldest_at: string | null;
  }[];
}

/** What a rule says of a case; it cannot tell where a fact that it names is missing. */
export type Says = 'holds' | 'does_not_hold' | 'cannot_tell';

export interface Ruling {
  readonly decision: Outcome;
  readonly reason_codes: readonly string[];
}

/** What a policy version would decide about a case, rule by rule. */
export interface Explanation extends Ruling {
  readonly policy_version: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly rules: readonly (Ruling & {
    readonly index: number;
    readonly says: Says;
    readonly missing: readonly string[];
    readonly decides: boolean;
  })[];
  readonly default: Ruling & { readonly decides: boolean };
  readonly is_uncertain: boolean;
}

/** What a draft would have decided about the cases that were decided last. */
export interface Trial {
  readonly policy_version: string;
  readonly tried: number;
  readonly changes: number;
  readonly unchanged: number;
  readonly cases: readonly {
    readonly case_id: string;
    readonly subject_ref: string;
    readonly policy_version: string;
    readonly decided_at: string;
    readonly was: Ruling;
    readonly would_be: Ruling;
    readonly changes: boolean;
    readonly rules: readonly Says[];
  }[];
}

/** The address of a route of the admin listener, in an environment; members that are not set are left out. */
export function adminPath(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return `/admin/case-gate/admin/v1${path}?${new URLSearchParams(set)}`;
}
