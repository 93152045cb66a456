import { sha256 } from '@sealgate/json';
import { enumOf, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import * as s from '../schemas.ts';
import { changeOf, itemMembers, labelled, newOf, picked, setBy, shown, unsetOf } from './model.ts';
import { docMembers, timeText, type Kind } from './resource.ts';

export const PolicyStatus = enumOf('PolicyStatus', ['draft', 'in_review', 'approved', 'retired']);

const Policy = Type.Object({
  id: s.Text,
  title: labelled('Title', s.Title),
  status: labelled('Status', PolicyStatus),
  body: labelled('Text', Type.String({ minLength: 1, maxLength: 200_000 })),
  approvedAt: labelled('Approved', s.OrNull(s.Time)),
  effectiveAt: labelled('Effective', s.OrNull(s.Time)),
  nextReviewAt: labelled('Next review', s.OrNull(s.Time)),
  /** Incremented by each change. */
  version: labelled('Version', s.Integer),
  ...docMembers,
});
type Policy = Static<typeof Policy>;

const { version: _version, ...asked } = Policy.properties;
export const NewPolicy = named('NewPolicy', newOf(asked, ['title', 'body']));
type NewPolicy = Static<typeof NewPolicy>;
export const PolicyChange = named('PolicyChange', changeOf(NewPolicy));
type PolicyChange = Static<typeof PolicyChange>;

export const PolicyView = named(
  'PolicyView',
  Type.Object({
    ...shown(Policy.properties),
    body: Type.Optional(labelled('Text', Type.String(), 'Only in a single record, not in lists.')),
    bodySha256: labelled('SHA-256 of the text', s.Sha256),
  }),
);

const texts = ['title'] as const;

/** What partners see. */
export const PolicyItem = named(
  'Policy',
  Type.Object({
    ...itemMembers(Policy, {
      texts,
      others: ['id', 'status', 'approvedAt', 'effectiveAt', 'nextReviewAt', 'version', 'createdAt', 'updatedAt'],
    }),
    bodySha256: s.Sha256,
  }),
);

const bodySha256 = ({ body }: Policy): string => sha256(body).toString('hex');

const unset = unsetOf(Policy);

export const policyKind: Kind<Policy, NewPolicy, PolicyChange> = {
  name: 'policy',
  collection: 'policies',
  prefix: 'pol_',
  rowFiltered: false,
  unset,
  links: {},
  make(body, { id, nowMs }) {
    const now = timeText(nowMs);
    const { title, body: text } = body;
    return {
      ...unset,
      id,
      version: 1,
      status: 'draft',
      ...setBy(NewPolicy, body),
      title,
      body: text,
      createdAt: now,
      updatedAt: now,
    };
  },
  change: (policy, body, { nowMs }) => ({
    ...policy,
    ...setBy(NewPolicy, body),
    version: policy.version + 1,
    updatedAt: timeText(nowMs),
  }),
  freeText: texts,
  partnerItem: (policy) => ({ ...picked(PolicyItem, policy), bodySha256: bodySha256(policy) }),
  facets: ({ status }) => [`status:${status}`],
  sorts: ['createdAt', 'updatedAt', 'title', 'nextReviewAt'],
  view(policy, { inList }) {
    const { body, ...metadata } = policy;
    return { ...metadata, bodySha256: bodySha256(policy), ...(inList ? {} : { body }) };
  },
};
