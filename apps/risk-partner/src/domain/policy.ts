import { defined, sha256 } from '@sealgate/json';
import { normalTime, timeText, type Doc, type Kind } from './resource.ts';

export const POLICY_STATUSES = ['draft', 'in_review', 'approved', 'retired'] as const;

export interface Policy extends Doc {
  readonly title: string;
  readonly status: (typeof POLICY_STATUSES)[number];
  readonly body: string;
  /** Incremented by each change. */
  readonly version: number;
  readonly approvedAt: string | null;
  readonly effectiveAt: string | null;
  readonly nextReviewAt: string | null;
}

export interface PolicyChange {
  readonly title?: string;
  readonly status?: Policy['status'];
  readonly body?: string;
  readonly approvedAt?: string | null;
  readonly effectiveAt?: string | null;
  readonly nextReviewAt?: string | null;
}

export type NewPolicy = PolicyChange & Required<Pick<PolicyChange, 'title' | 'body'>>;

const bodySha256 = ({ body }: Policy): string => sha256(body).toString('hex');

export const policyKind: Kind<Policy, NewPolicy, PolicyChange> = {
  name: 'policy',
  collection: 'policies',
  prefix: 'pol_',
  rowFiltered: false,
  links: {},
  make(body, { id, nowMs }) {
    const now = timeText(nowMs);
    return {
      id,
      title: body.title,
      version: 1,
      status: body.status ?? 'draft',
      body: body.body,
      approvedAt: normalTime(body.approvedAt) ?? null,
      effectiveAt: normalTime(body.effectiveAt) ?? null,
      nextReviewAt: normalTime(body.nextReviewAt) ?? null,
      createdAt: now,
      updatedAt: now,
    };
  },
  change(policy, body, { nowMs }) {
    const { approvedAt, effectiveAt, nextReviewAt, ...plain } = body;
    const times = defined({
      approvedAt: normalTime(approvedAt),
      effectiveAt: normalTime(effectiveAt),
      nextReviewAt: normalTime(nextReviewAt),
    });
    return { ...policy, ...defined(plain), ...times, version: policy.version + 1, updatedAt: timeText(nowMs) };
  },
  freeText: ['title'],
  partnerItem: (policy) => ({
    id: policy.id,
    title: policy.title,
    version: policy.version,
    status: policy.status,
    bodySha256: bodySha256(policy),
    approvedAt: policy.approvedAt,
    effectiveAt: policy.effectiveAt,
    nextReviewAt: policy.nextReviewAt,
    createdAt: policy.createdAt,
    updatedAt: policy.updatedAt,
  }),
  facets: ({ status }) => [`status:${status}`],
  view(policy, { inList }) {
    const { body, ...metadata } = policy;
    return { ...metadata, bodySha256: bodySha256(policy), ...(inList ? {} : { body }) };
  },
};
