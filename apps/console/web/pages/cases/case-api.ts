import type { Schemas } from '@sealgate/client';
import type { ExportOf } from '../../shell/export-menu.tsx';

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

/** The path of the pack of a case. Its bytes are read as they are, since its signature is over them. */
export const packPathOf = (caseId: string, environment: string, isDraft = false): string =>
  `/admin/case-gate/admin/v1/cases/${encodeURIComponent(caseId)}/assessor-pack?environment=${environment}${isDraft ? '&draft=true' : ''}`;

/** The export of a list of an environment. */
export const exportOf = (environment: string, list: string, query: ExportOf['query'] = {}): ExportOf => ({
  path: `/admin/case-gate/admin/v1/${list}/export`,
  query: { ...query, environment },
  name: list,
});
