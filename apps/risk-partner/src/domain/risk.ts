import { AppError } from '@sealgate/errors';
import { closedObject, enumOf, instantText, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import * as s from '../schemas.ts';
import { changeOf, itemMembers, labelled, newOf, normalTime, picked, setBy, shown, unsetOf } from './model.ts';
import { docMembers, filterMembers, refId, timeText, type Kind, type Writing } from './resource.ts';

export const RiskStatus = enumOf('RiskStatus', [
  'identified',
  'assessed',
  'in_treatment',
  'accepted',
  'closed',
  'archived',
]);
export const Level = enumOf('Level', ['low', 'medium', 'high', 'critical']);
const Treatment = enumOf('Treatment', ['mitigate', 'accept', 'avoid', 'transfer', 'undecided']);
const ReviewStatus = enumOf('ReviewStatus', ['draft', 'in_review', 'approved', 'rejected']);

const Degree = Type.Integer({ minimum: 1, maximum: 5 });
/** A person's estimate. */
const Estimate = named('Estimate', closedObject({ likelihood: Degree, impact: Degree }));
type Estimate = Static<typeof Estimate>;

export const Rating = named(
  'Rating',
  Type.Object({ likelihood: s.Integer, impact: s.Integer, score: s.Integer, level: Level }),
);
type Rating = Static<typeof Rating>;
const Score = named('Score', Type.Pick(Rating, ['score', 'level']));

const acceptance = {
  acceptedBy: s.Text,
  acceptedAt: s.Time,
  expiresAt: s.Time,
  residualAtAcceptance: s.OrNull(Rating),
};
const Acceptance = Type.Object(acceptance);
type Acceptance = Static<typeof Acceptance>;

/** A risk, in the order of its form. Adding a member is adding it here: see the README. */
const Risk = Type.Object({
  id: s.Text,
  title: labelled('Title', s.Title),
  refId,
  category: labelled('Category', s.Short),
  description: labelled('Description', s.OrNull(s.LongText)),
  inherent: labelled('Inherent rating', Rating),
  current: labelled('Current rating', Rating),
  residual: labelled('Residual rating', s.OrNull(Rating)),
  status: labelled('Status', RiskStatus),
  acceptance: s.OrNull(Acceptance),
  treatment: labelled('Treatment', Treatment),
  treatmentPlan: labelled('Treatment plan', s.OrNull(s.LongText)),
  reviewStatus: labelled('Review', ReviewStatus),
  nextReviewAt: labelled('Next review', s.OrNull(s.Time)),
  ...filterMembers,
  assetIds: labelled('Assets', s.Ids),
  controlIds: labelled('Controls', s.Ids),
  evidenceIds: labelled('Evidence', s.Ids),
  identifiedAt: labelled('Identified', s.Time),
  ...docMembers,
});
type Risk = Static<typeof Risk>;

/** Ratings and acceptances are computed from what is asked. */
export const NewRisk = named(
  'NewRisk',
  newOf(
    {
      ...Risk.properties,
      inherent: labelled('Inherent rating', Estimate),
      current: labelled('Current rating', Estimate),
      residual: labelled('Residual rating', s.OrNull(Estimate)),
      acceptance: labelled(
        'Accepted until',
        named('NewAcceptance', closedObject({ expiresAt: instantText() })),
        'Needed for the status accepted.',
      ),
    },
    ['title', 'category', 'inherent'],
  ),
);
type NewRisk = Static<typeof NewRisk>;

export const RiskChange = named('RiskChange', changeOf(NewRisk));
type RiskChange = Static<typeof RiskChange>;

export const RiskView = named(
  'RiskView',
  Type.Object({
    ...shown(Risk.properties),
    acceptance: s.OrNull(named('Acceptance', Type.Object({ ...acceptance, stale: s.Flag }))),
    version: labelled('Version', s.Integer),
    previous: s.Optional(
      named(
        'FormerRating',
        Type.Object(
          { ...Rating.properties, until: s.Time },
          {
            description: 'In lists with `worseSince`: the current rating at that time, and until when the risk had it.',
          },
        ),
      ),
    ),
  }),
);

const texts = ['refId', 'title', 'category'] as const;

/** What partners see. */
export const RiskItem = named(
  'Risk',
  Type.Object({
    ...itemMembers(Risk, {
      texts,
      others: ['id', 'status', 'treatment', 'reviewStatus', 'nextReviewAt', 'controlIds', 'createdAt', 'updatedAt'],
    }),
    inherent: Score,
    current: Score,
    residual: s.OrNull(Score),
    acceptanceExpiresAt: s.OrNull(s.Time),
    acceptanceStale: s.OrNull(
      Type.Boolean({
        description: 'True once it ran out, or the residual rating changed since; null if not accepted.',
      }),
    ),
  }),
);

/** Score and level of an estimate: 1-4 low, 5-9 medium, 10-16 high, 17-25 critical. */
export function rate({ likelihood, impact }: Estimate): Rating {
  const score = likelihood * impact;
  const level = score <= 4 ? 'low' : score <= 9 ? 'medium' : score <= 16 ? 'high' : 'critical';
  return { likelihood, impact, score, level };
}

const unset = unsetOf(Risk);

export const riskKind: Kind<Risk, NewRisk, RiskChange> = {
  name: 'risk',
  collection: 'risks',
  prefix: 'rsk_',
  rowFiltered: true,
  unset,
  links: { assetIds: 'asset', controlIds: 'control', evidenceIds: 'evidence' },
  make(body, writing) {
    const now = timeText(writing.nowMs);
    const { title, category } = body;
    const inherent = rate(body.inherent);
    const blank: Risk = {
      ...unset,
      id: writing.id,
      title,
      category,
      inherent,
      current: inherent,
      ownerId: writing.personId,
      status: 'identified',
      treatment: 'undecided',
      reviewStatus: 'draft',
      identifiedAt: now,
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
  freeText: texts,
  validUntil: (risk) =>
    risk.acceptance === null || hasMoved(risk, risk.acceptance) ? null : risk.acceptance.expiresAt,
  partnerItem: (risk) => ({
    ...picked(RiskItem, risk),
    inherent: scoreOf(risk.inherent),
    current: scoreOf(risk.current),
    residual: risk.residual === null ? null : scoreOf(risk.residual),
    acceptanceExpiresAt: risk.acceptance?.expiresAt ?? null,
    // Until it runs out, which happens without a write: see `itemAt`.
    acceptanceStale: risk.acceptance === null ? null : hasMoved(risk, risk.acceptance),
  }),
  facets: ({ status, category, current, assetIds, controlIds, evidenceIds }) => [
    `status:${status}`,
    `category:${category}`,
    `level:${current.level}`,
    ...[...assetIds, ...controlIds, ...evidenceIds].map((id) => `link:${id}`),
  ],
  sorts: ['createdAt', 'updatedAt', 'refId', 'title', 'currentScore', 'nextReviewAt', 'acceptanceExpiresAt'],
  // The heat map shows open risks only.
  counted: ({ status, inherent, current, residual }) =>
    status === 'closed' || status === 'archived'
      ? []
      : Object.entries({ inherent, current, residual }).flatMap(([rated, rating]) =>
          rating === null ? [] : [`${rated}:${rating.likelihood}:${rating.impact}`],
        ),
  view: (risk, { n, nowMs, previous }) => ({
    ...risk,
    acceptance: risk.acceptance === null ? null : { ...risk.acceptance, stale: isStale(risk, risk.acceptance, nowMs) },
    version: n,
    ...(previous !== undefined && { previous: { ...rate(previous), until: previous.until } }),
  }),
};

const scoreOf = ({ score, level }: Rating) => ({ score, level });

function applied(risk: Risk, body: RiskChange, writing: Writing): Risk {
  const { inherent, current, residual, acceptance, ...plain } = body;
  const next: Risk = {
    ...risk,
    ...setBy(NewRisk, plain),
    ...(inherent !== undefined && { inherent: rate(inherent) }),
    ...(current !== undefined && { current: rate(current) }),
    ...(residual !== undefined && { residual: residual && rate(residual) }),
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
