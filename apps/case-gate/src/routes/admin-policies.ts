import { AppError } from '@sealgate/errors';
import { ADMIN_BODY_MAX_BYTES, ADMIN_LIST_RANGE, adminRoute, readPage, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, enumOf, listOf, listQuery, named, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import type { RecordingSql } from '../data/ledger-writer.ts';
import type { PoliciesStore } from '../data/policies-store.ts';
import { changedPolicy, rulesText, type StoredPolicy } from '../domain/manage-policies.ts';
import type { PolicyRules } from '../domain/policy-rules.ts';
import { Environment, OrNull, Outcome, PolicyVersion, ReasonCode, Text, Time } from '../schemas.ts';
import { adminBase, EnvironmentQuery, environmentOf, environmentQuery, type AdminPorts } from './admin-base.ts';

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

const ofPolicy = Type.Object({ policy_version: PolicyVersion });

export function adminPolicyRoutes(ports: AdminPoliciesPorts): Route<AdminCaller>[] {
  const list = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/policies',
    operationId: 'listPolicies',
    summary: 'List the policy versions of an environment',
    query: listQuery(ADMIN_LIST_RANGE, environmentQuery),
    responses: { 200: { description: 'A page.', schema: listOf(PolicyRow) } },
    errors: [],
    async handler({ query }) {
      const environment = environmentOf({}, query);
      const page = readPage(query, ports.cursors, ['policies', environment]);
      const rows = await ports.policies.list(environment, { limit: page.limit + 1, after: String(page.after ?? '') });
      return { status: 200, body: page.answer(rows, { item: rowOf, position: ({ policyVersion }) => policyVersion }) };
    },
  });
  const get = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/policies/:policy_version',
    operationId: 'getPolicy',
    summary: 'Read a policy version',
    params: ofPolicy,
    query: EnvironmentQuery,
    responses: { 200: { description: 'The policy.', schema: PolicyRow } },
    errors: ['NOT_FOUND'],
    async handler({ params, query }) {
      const policy = await ports.policies.find(environmentOf({}, query), params.policy_version);
      if (policy === undefined) throw noPolicy();
      return { status: 200, body: rowOf(policy) };
    },
  });
  return [createRoute(ports), list, get, changeRoute(ports)];
}

function createRoute(ports: AdminPoliciesPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'post',
    path: '/admin/v1/policies',
    operationId: 'createPolicy',
    summary: 'Create a policy version, as a draft by default',
    query: EnvironmentQuery,
    body: NewPolicyBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 201: { description: 'The policy.', schema: PolicyRow } },
    errors: ['ALREADY_EXISTS'],
    async handler(context) {
      const { policy_version: policyVersion, status = 'draft', rules = null } = context.body;
      const at = new Date(ports.now());
      const policy: StoredPolicy = {
        environment: environmentOf(context.body, context.query),
        policyVersion,
        status,
        rules: rulesText(rules as PolicyRules | null),
        recordVersion: 1,
        createdAt: at,
        updatedAt: at,
      };
      const made = await ports.inSql(async (sql) => {
        const inserted = await ports.insertPolicy(sql, policy);
        if (inserted === undefined) throw new AppError('ALREADY_EXISTS', 'The policy version exists.');
        await ports.auditChange(context, changeOf('policy.create', inserted), sql);
        return inserted;
      });
      return { status: 201, body: rowOf(made) };
    },
  });
}

function changeRoute(ports: AdminPoliciesPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'patch',
    path: '/admin/v1/policies/:policy_version',
    operationId: 'changePolicy',
    summary: 'Activate or retire a policy version, or change the rules of a draft',
    params: ofPolicy,
    query: EnvironmentQuery,
    body: ChangeBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'The policy.', schema: PolicyRow } },
    errors: ['NOT_FOUND', 'IN_USE', 'INVALID_STATE_TRANSITION'],
    async handler(context) {
      const environment = environmentOf({}, context.query);
      const change = context.body as Parameters<typeof changedPolicy>[1];
      const policy = await ports.inSql(async (sql) => {
        const known = await ports.lockPolicy(sql, environment, context.params.policy_version);
        if (known === undefined) throw noPolicy();
        const changed = changedPolicy(known, change);
        if (changed.status === known.status && changed.rules === known.rules) return known;
        const recordVersion = known.recordVersion + 1;
        const next = { ...known, ...changed, recordVersion, updatedAt: new Date(ports.now()) };
        await ports.savePolicy(sql, next);
        await ports.auditChange(context, changeOf('policy.change', next), sql);
        return next;
      });
      return { status: 200, body: rowOf(policy) };
    },
  });
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
