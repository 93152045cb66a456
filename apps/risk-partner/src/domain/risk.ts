import { defined } from '@sealgate/json';
import { AppError } from '@sealgate/errors';
import { normalTime, timeText, type FilteredDoc, type Kind, type Writing } from './resource.ts';

export const RISK_STATUSES = ['identified', 'assessed', 'in_treatment', 'accepted', 'closed', 'archived'] as const;
export const LEVELS = ['low', 'medium', 'high', 'critical'] as const;
export const TREATMENTS = ['mitigate', 'accept', 'avoid', 'transfer', 'undecided'] as const;
export const REVIEW_STATUSES = ['draft', 'in_review', 'approved', 'rejected'] as const;

export type Level = (typeof LEVELS)[number];
type Status = (typeof RISK_STATUSES)[number];

/** A person's estimate, each from 1 to 5. */
export interface Estimate {
  readonly likelihood: number;
  readonly impact: number;
}

export interface Rating extends Estimate {
  readonly score: number;
  readonly level: Level;
}

export interface Acceptance {
  readonly acceptedBy: string;
  readonly acceptedAt: string;
  readonly expiresAt: string;
  readonly residualAtAcceptance: Rating | null;
}

export interface Risk extends FilteredDoc {
  readonly refId: string | null;
  readonly title: string;
  readonly description: string | null;
  readonly category: string;
  readonly status: Status;
  readonly inherent: Rating;
  readonly current: Rating;
  readonly residual: Rating | null;
  readonly treatment: (typeof TREATMENTS)[number];
  readonly treatmentPlan: string | null;
  readonly reviewStatus: (typeof REVIEW_STATUSES)[number];
  readonly assetIds: readonly string[];
  readonly controlIds: readonly string[];
  readonly evidenceIds: readonly string[];
  readonly acceptance: Acceptance | null;
  readonly identifiedAt: string;
  readonly nextReviewAt: string | null;
}

/** The members that a change may set. */
export interface RiskChange {
  readonly refId?: string | null;
  readonly title?: string;
  readonly description?: string | null;
  readonly category?: string;
  readonly department?: string | null;
  readonly ownerId?: string;
  readonly status?: Status;
  readonly inherent?: Estimate;
  readonly current?: Estimate;
  readonly residual?: Estimate | null;
  readonly treatment?: Risk['treatment'];
  readonly treatmentPlan?: string | null;
  readonly reviewStatus?: Risk['reviewStatus'];
  readonly sensitive?: boolean;
  readonly assetIds?: readonly string[];
  readonly controlIds?: readonly string[];
  readonly evidenceIds?: readonly string[];
  readonly acceptance?: { readonly expiresAt: string };
  readonly identifiedAt?: string;
  readonly nextReviewAt?: string | null;
}

export type NewRisk = RiskChange & Required<Pick<RiskChange, 'title' | 'category' | 'inherent'>>;

/** Score and level of an estimate: 1-4 low, 5-9 medium, 10-16 high, 17-25 critical. */
export function rate({ likelihood, impact }: Estimate): Rating {
  const score = likelihood * impact;
  const level = score <= 4 ? 'low' : score <= 9 ? 'medium' : score <= 16 ? 'high' : 'critical';
  return { likelihood, impact, score, level };
}

export const riskKind: Kind<Risk, NewRisk, RiskChange> = {
  name: 'risk',
  collection: 'risks',
  prefix: 'rsk_',
  rowFiltered: true,
  links: { assetIds: 'asset', controlIds: 'control', evidenceIds: 'evidence' },
  make(body, writing) {
    const now = timeText(writing.nowMs);
    const blank: Risk = {
      id: writing.id,
      refId: null,
      title: body.title,
      description: null,
      category: body.category,
      department: null,
      ownerId: writing.personId,
      status: 'identified',
      inherent: rate(body.inherent),
      current: rate(body.inherent),
      residual: null,
      treatment: 'undecided',
      treatmentPlan: null,
      reviewStatus: 'draft',
      sensitive: false,
      assetIds: [],
      controlIds: [],
      evidenceIds: [],
      acceptance: null,
      identifiedAt: now,
      nextReviewAt: null,
      createdAt: now,
      updatedAt: now,
    };
    return applied(blank, body, writing);
  },
  change(risk, body, writing) {
    if (risk.status === 'archived' && body.status !== undefined && body.status !== 'archived')
      throw new AppError('INVALID_STATE_TRANSITION', 'An archived risk cannot change its status.');
    return { ...applied(risk, body, writing), updatedAt: timeText(writing.nowMs) };
  },
  freeText: ['refId', 'title', 'category'],
  validUntil: (risk) =>
    risk.acceptance === null || hasMoved(risk, risk.acceptance) ? null : risk.acceptance.expiresAt,
  partnerItem: (risk) => ({
    id: risk.id,
    refId: risk.refId,
    title: risk.title,
    category: risk.category,
    status: risk.status,
    inherent: shown(risk.inherent),
    current: shown(risk.current),
    residual: risk.residual === null ? null : shown(risk.residual),
    treatment: risk.treatment,
    acceptanceExpiresAt: risk.acceptance?.expiresAt ?? null,
    // Until it runs out, which happens without a write: see `itemAt`.
    acceptanceStale: risk.acceptance === null ? null : hasMoved(risk, risk.acceptance),
    reviewStatus: risk.reviewStatus,
    nextReviewAt: risk.nextReviewAt,
    controlIds: [...risk.controlIds],
    createdAt: risk.createdAt,
    updatedAt: risk.updatedAt,
  }),
  facets: ({ status, category, current, assetIds, controlIds, evidenceIds }) => [
    `status:${status}`,
    `category:${category}`,
    `level:${current.level}`,
    ...[...assetIds, ...controlIds, ...evidenceIds].map((id) => `link:${id}`),
  ],
  view: (risk, { n, nowMs }) => ({
    ...risk,
    acceptance: risk.acceptance === null ? null : { ...risk.acceptance, stale: isStale(risk, risk.acceptance, nowMs) },
    version: n,
  }),
};

const shown = ({ score, level }: Rating) => ({ score, level });

function applied(risk: Risk, body: RiskChange, writing: Writing): Risk {
  const { inherent, current, residual, acceptance, identifiedAt, nextReviewAt, ...plain } = body;
  const next: Risk = {
    ...risk,
    ...defined(plain),
    ...defined({
      inherent: inherent && rate(inherent),
      current: current && rate(current),
      residual: residual && rate(residual),
      identifiedAt: normalTime(identifiedAt),
      nextReviewAt: normalTime(nextReviewAt),
    }),
  };
  return { ...next, acceptance: acceptanceOf(next, acceptance, writing) };
}

function acceptanceOf(risk: Risk, asked: RiskChange['acceptance'], writing: Writing): Acceptance | null {
  if (risk.status !== 'accepted') {
    if (asked !== undefined) throw acceptanceFault('/acceptance', 'is allowed only for an accepted risk');
    return null;
  }
  if (asked === undefined) {
    if (risk.acceptance === null) throw acceptanceFault('/acceptance', 'is required to accept a risk');
    return risk.acceptance;
  }
  const expiresAt = normalTime(asked.expiresAt);
  const isPast = Date.parse(expiresAt) <= writing.nowMs;
  // What has run out may be repeated, which renews nothing.
  if (isPast && risk.acceptance?.expiresAt === expiresAt) return risk.acceptance;
  if (isPast) throw acceptanceFault('/acceptance/expiresAt', 'must be in the future');
  return {
    acceptedBy: writing.personId,
    acceptedAt: timeText(writing.nowMs),
    expiresAt,
    residualAtAcceptance: risk.residual,
  };
}

function acceptanceFault(pointer: string, detail: string): AppError {
  return new AppError('INVALID_REQUEST', 'The acceptance is invalid.', {
    faults: [{ in: 'body', pointer, detail }],
  });
}

/** Whether the residual rating has changed since the acceptance, or the acceptance has expired. */
function isStale(risk: Risk, acceptance: Acceptance, nowMs: number): boolean {
  return hasMoved(risk, acceptance) || nowMs >= Date.parse(acceptance.expiresAt);
}

/** Whether the residual rating has changed since the acceptance. */
function hasMoved({ residual }: Risk, { residualAtAcceptance: then }: Acceptance): boolean {
  return residual?.likelihood !== then?.likelihood || residual?.impact !== then?.impact;
}
