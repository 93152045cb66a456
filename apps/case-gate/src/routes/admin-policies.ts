import { AppError } from '@sealgate/errors';
import { ADMIN_LIST_RANGE, adminRoute, resourceRoutes, rowAnswers, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, enumOf, listQuery, named, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import type { RecordingSql } from '../data/ledger-writer.ts';
import type { PoliciesStore } from '../data/policies-store.ts';
import { changedPolicy, rulesText, type StoredPolicy } from '../domain/manage-policies.ts';
import type { PolicyRules } from '../domain/policy-rules.ts';
import { Environment, OrNull, Outcome, PolicyVersion, ReasonCode, Text, Time } from '../schemas.ts';
import { EnvironmentQuery, environmentOf, environmentQuery, type AdminPorts } from './admin-base.ts';

const PolicyStatus = enumOf('PolicyStatus', ['draft', 'active', 'retired']);
const ruling = { decision: Outcome, reason_codes: Type.Array(ReasonCode, { maxItems: 20 }) };
const Rules = named(
  'PolicyRules',
  closedObject({
    rules: Type.Array(named('PolicyRule', closedObject({ when: Type.Unknown(), ...ruling })), {
      maxItems: 200,
      description: 'JSON Logic over the facts of a case; the first rule that holds decides.',
    }),
    default: named('Ruling', closedObject(ruling)),
  }),
);

const NewPolicyBody = closedObject({
  policy_version: PolicyVersion,
  environment: Type.Optional(Environment),
  status: Type.Optional(PolicyStatus),
  rules: Type.Optional(OrNull(Rules)),
});
const ChangeBody = closedObject({ status: Type.Optional(PolicyStatus), rules: Type.Optional(OrNull(Rules)) });

const PolicyRow = named(
  'Policy',
  Type.Object({
    policy_version: Text,
    environment: Text,
    status: PolicyStatus,
    rules: OrNull(Type.Object({}, { additionalProperties: true })),
    created_at: Time,
    updated_at: Time,
  }),
);

export interface AdminPoliciesPorts extends AdminPorts {
  readonly policies: PoliciesStore;
  /** Undefined where the version exists. */
  readonly insertPolicy: (sql: RecordingSql, policy: StoredPolicy) => Promise<StoredPolicy | undefined>;
  readonly lockPolicy: (
    sql: RecordingSql,
    environment: string,
    policyVersion: string,
  ) => Promise<StoredPolicy | undefined>;
  readonly savePolicy: (sql: RecordingSql, policy: StoredPolicy) => Promise<void>;
}

const { creating, listing, reading, changing } = resourceRoutes({
  name: 'Policy',
  plural: 'Policies',
  said: 'The policy.',
  row: PolicyRow,
  path: '/admin/v1/policies',
  id: 'policy_version',
  idSchema: PolicyVersion,
});

export function adminPolicyRoutes(ports: AdminPoliciesPorts): Route<AdminCaller>[] {
  const { policies, insertPolicy, lockPolicy, savePolicy, inSql, auditChange, now, cursors } = ports;
  const { created, found, page } = rowAnswers({ rowOf, positionOf: ({ policyVersion }) => policyVersion, cursors });
  return [
    adminRoute({
      ...creating,
      summary: 'Create a policy version, as a draft by default',
      query: EnvironmentQuery,
      body: NewPolicyBody,
      errors: ['ALREADY_EXISTS'],
      async handler(context) {
        const { policy_version: policyVersion, status = 'draft', rules = null } = context.body;
        const at = new Date(now());
        const policy: StoredPolicy = {
          environment: environmentOf(context.body, context.query),
          policyVersion,
          status,
          rules: rulesText(rules as PolicyRules | null),
          recordVersion: 1,
          createdAt: at,
          updatedAt: at,
        };
        const made = await inSql(async (sql) => {
          const inserted = await insertPolicy(sql, policy);
          if (inserted === undefined) throw new AppError('ALREADY_EXISTS', 'The policy version exists.');
          await auditChange(context, changeOf('policy.create', inserted), sql);
          return inserted;
        });
        return created(made);
      },
    }),
    adminRoute({
      ...listing,
      summary: 'List the policy versions of an environment',
      query: listQuery(ADMIN_LIST_RANGE, environmentQuery),
      handler({ query }) {
        const environment = environmentOf({}, query);
        return page(query, ['policies', environment], (after) => policies.list(environment, after));
      },
    }),
    adminRoute({
      ...reading,
      summary: 'Read a policy version',
      query: EnvironmentQuery,
      async handler({ params, query }) {
        const policy = await policies.find(environmentOf({}, query), params.policy_version);
        if (policy === undefined) throw noPolicy();
        return found(policy);
      },
    }),
    adminRoute({
      ...changing,
      summary: 'Activate or retire a policy version, or change the rules of a draft',
      query: EnvironmentQuery,
      body: ChangeBody,
      errors: ['IN_USE', 'INVALID_STATE_TRANSITION'],
      async handler(context) {
        const environment = environmentOf({}, context.query);
        const change = context.body as Parameters<typeof changedPolicy>[1];
        const policy = await inSql(async (sql) => {
          const known = await lockPolicy(sql, environment, context.params.policy_version);
          if (known === undefined) throw noPolicy();
          const changed = changedPolicy(known, change);
          if (changed.status === known.status && changed.rules === known.rules) return known;
          const recordVersion = known.recordVersion + 1;
          const next = { ...known, ...changed, recordVersion, updatedAt: new Date(now()) };
          await savePolicy(sql, next);
          await auditChange(context, changeOf('policy.change', next), sql);
          return next;
        });
        return found(policy);
      },
    }),
  ];
}

function changeOf(action: string, { policyVersion, environment, status }: StoredPolicy) {
  return { action, resource: 'policy', resourceId: policyVersion, detail: { environment, status } };
}

function rowOf(policy: StoredPolicy): Static<typeof PolicyRow> {
  return {
    policy_version: policy.policyVersion,
    environment: policy.environment,
    status: policy.status,
    rules: policy.rules === null ? null : (JSON.parse(policy.rules) as object),
    created_at: policy.createdAt.toISOString(),
    updated_at: policy.updatedAt.toISOString(),
  };
}

function noPolicy(): AppError {
  return new AppError('NOT_FOUND', 'There is no such policy version.');
}
