import type { JsonValue } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import {
  answered,
  closedObject,
  enumOf,
  Environment,
  named,
  OptionalEnvironment,
  OrNull,
  Outcome,
  PolicyVersion,
  ReasonCode,
  Text,
  Time,
} from '../schemas.ts';
import type { RecordOf } from './model.ts';
import type { ListedKind } from './signed-row.ts';

const ruling = { decision: Outcome, reason_codes: Type.Array(ReasonCode, { maxItems: 20 }) };
const Ruling = named('Ruling', closedObject(ruling));
export type Ruling = RecordOf<typeof Ruling>;

const when = Type.Unsafe<JsonValue>(Type.Unknown());
const PolicyRules = named(
  'PolicyRules',
  closedObject({
    rules: Type.Array(named('PolicyRule', closedObject({ when, ...ruling })), {
      maxItems: 200,
      description: 'JSON Logic over the facts of a case; the first rule that holds decides.',
    }),
    default: Ruling,
  }),
);
export type PolicyRules = RecordOf<typeof PolicyRules>;

/** A policy version. Its rules are JSON text, or null where a decision must name its outcome. */
const Policy = Type.Object({
  environment: Environment,
  policy_version: PolicyVersion,
  status: enumOf('PolicyStatus', ['draft', 'active', 'retired']),
  rules: OrNull(Text),
  created_at: Time,
  updated_at: Time,
  record_version: Type.Integer({ minimum: 1 }),
});
export type Policy = RecordOf<typeof Policy>;

export const POLICIES: ListedKind<Policy> = {
  kind: 'policy',
  what: 'policy version',
  table: 'policies',
  model: Policy,
  id: ['environment', 'policy_version'],
  recorded: ['status', 'updated_at'],
  searched: ['policy_version'],
  // What a version decides never changes.
  mayReturn: false,
};

const { environment, policy_version, ...shown } = answered(Type.Omit(Policy, ['record_version'])).properties;
const rules = OrNull(Type.Object({}, { additionalProperties: true }));
export const PolicyAnswer = named('Policy', Type.Object({ policy_version, environment, ...shown, rules }));

const RULES =
  'Without them each decision must name its outcome; immutable once the version is active. JSON: {"rules": [{"when", ' +
  '"decision", "reason_codes"}], "default": {"decision", "reason_codes"}}.';
const given = Type.Partial(Type.Pick(Policy, ['status']));
export const PolicyChange = closedObject({
  ...given.properties,
  rules: Type.Optional(OrNull(PolicyRules, { description: RULES })),
});
export const NewPolicy = closedObject({
  policy_version: PolicyVersion,
  environment: OptionalEnvironment,
  ...PolicyChange.properties,
});
