import type { Schemas } from '@sealgate/client';
import type { ExportOf } from '../../shell/export-menu.tsx';
import type { Total } from '../../shell/total.ts';

type Admin = Schemas['caseGateAdmin'];
type Public = Schemas['caseGate'];

export type Policy = Admin['Policy'];
export type PolicyRules = Admin['PolicyRules'];
export type Eligibility = Admin['Eligibility'];
export type Venue = Admin['Venue'];
export type Outcome = Admin['Outcome'];
export type LoggedDecision = Admin['LoggedDecision'];
export type TimelineEntry = Public['TimelineEntry'];
export type NewAttachment = Public['NewAttachment'];

/** A case in lists of the admin listener. */
export type ListedCase = Admin['CaseRow'];
export type CaseDetail = Admin['CaseDetail'];

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
  readonly total?: Total;
}

export type CaseCounts = Admin['CaseCounts'];
/** A trial decision of a policy version on a case, rule by rule. */
export type Explanation = Admin['Explanation'];
/** The result of a rule for a case; undecided if a fact it uses is missing. */
export type Says = Explanation['rules'][number]['says'];
/** The trial of a draft on the most recently decided cases. */
export type Trial = Admin['PolicyTrial'];

export interface Ruling {
  readonly decision: Outcome;
  readonly reason_codes: readonly string[];
}

/** The URL of an admin route in an environment; undefined parameters are omitted. */
export function adminPath(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return `/admin/case-gate/admin/v1${path}?${new URLSearchParams(set)}`;
}

/** The export of a list of an environment. */
export const exportOf = (environment: string, list: string, query: ExportOf['query'] = {}): ExportOf => ({
  path: `/admin/case-gate/admin/v1/${list}/export`,
  query: { ...query, environment },
  name: list,
});
