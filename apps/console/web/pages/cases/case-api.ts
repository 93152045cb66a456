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
export type ListedCase = Admin['CaseRow'];
export type CaseDetail = Admin['CaseDetail'];

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

export type CaseCounts = Admin['CaseCounts'];
/** What a policy version would decide about a case, rule by rule. */
export type Explanation = Admin['Explanation'];
/** What a rule says of a case; it cannot tell where a fact that it names is missing. */
export type Says = Explanation['rules'][number]['says'];
/** What a draft would have decided about the cases that were decided last. */
export type Trial = Admin['PolicyTrial'];

export interface Ruling {
  readonly decision: Outcome;
  readonly reason_codes: readonly string[];
}

/** The address of a route of the admin listener, in an environment; members that are not set are left out. */
export function adminPath(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return `/admin/case-gate/admin/v1${path}?${new URLSearchParams(set)}`;
}
