import { AppError, refusedMember } from '@sealgate/errors';
import {
  adminRoute,
  exportedList,
  OPERATORS_ONLY,
  POLICIES,
  resourceRoutes,
  rowAnswers,
  rowsOf,
  type AdminCaller,
} from '@sealgate/admin-api';
import type { HandlerContext, Route } from '@sealgate/http';
import type { Static } from '@sinclair/typebox';
import type { SignedRows } from '../data/signed-rows.ts';
import { changedPolicy, rulesText } from '../domain/manage-policies.ts';
import { NewPolicy, PolicyAnswer, PolicyChange, type Policy } from '../domain/policy.ts';
import { answerOf, PolicyVersion } from '../schemas.ts';
import { EnvironmentQuery, environmentOf, ofEnvironment, signedOrders, type AdminPorts } from './admin-base.ts';

export interface AdminPoliciesPorts extends AdminPorts {
  readonly policies: SignedRows<Policy>;
}

const { creating, listing, reading, changing } = resourceRoutes({
  name: 'Policy',
  plural: 'Policies',
  said: 'The policy.',
  row: PolicyAnswer,
  path: '/admin/v1/policies',
  id: 'policy_version',
  idSchema: PolicyVersion,
});

export function adminPolicyRoutes(ports: AdminPoliciesPorts): Route<AdminCaller>[] {
  const { policies, inSql, auditChange, now, cursors } = ports;
  const { created, found } = rowAnswers(rowOf);
  return [
    adminRoute({
      ...creating,
      permit: POLICIES.draft,
      summary: 'Create a policy version, as a draft by default',
      description: 'An author creates drafts only.',
      query: EnvironmentQuery,
      body: NewPolicy,
      errors: ['ALREADY_EXISTS'],
      async handler(context) {
        requireDraft(context, context.body.status);
        const { rules = null, ...given } = context.body;
        const at = new Date(now()).toISOString();
        const environment = environmentOf(context.body, context.query);
        const times = { created_at: at, updated_at: at };
        const first = { status: 'draft' as const, ...given, environment, rules: rulesText(rules), ...times };
        const made = await inSql(async (sql) => {
          const inserted = await policies.insert(sql, first);
          if (inserted === undefined)
            throw refusedMember('ALREADY_EXISTS', '/policy_version', 'There is a policy version of this name.');
          await auditChange(context, changeOf('policy.create', inserted), sql);
          return inserted;
        });
        return created(made);
      },
    }),
    ...exportedList({
      ...listing,
      permit: POLICIES.read,
      summary: 'List the policy versions of an environment',
      ...ofEnvironment,
      ...signedOrders,
      boundTo: ['environment'],
      ...rowsOf(() => policies.list, rowOf),
      exported: { resource: 'policy', of: 'environment', auditChange },
      cursors,
    }),
    adminRoute({
      ...reading,
      permit: POLICIES.read,
      summary: 'Read a policy version with its rules',
      query: EnvironmentQuery,
      async handler({ params, query }) {
        const policy = await policies.find([environmentOf({}, query), params.policy_version]);
        if (policy === undefined) throw noPolicy();
        return found(policy);
      },
    }),
    adminRoute({
      ...changing,
      permit: POLICIES.draft,
      summary: 'Activate or retire a policy version, or change the rules of a draft',
      description: 'An author changes the rules of drafts only.',
      query: EnvironmentQuery,
      body: PolicyChange,
      errors: ['IN_USE', 'INVALID_STATE_TRANSITION'],
      async handler(context) {
        requireDraft(context, context.body.status);
        const place = [environmentOf({}, context.query), context.params.policy_version];
        const policy = await inSql(async (sql) => {
          const known = await policies.lock(sql, place);
          if (known === undefined) throw noPolicy();
          const changed = changedPolicy(known, context.body);
          if (changed.status === known.status && changed.rules === known.rules) return known;
          const updated = { updated_at: new Date(now()).toISOString() };
          const next = await policies.save(sql, { ...known, ...changed, ...updated });
          await auditChange(context, changeOf('policy.change', next), sql);
          return next;
        });
        return found(policy);
      },
    }),
  ];
}

/** Only operators activate and retire. @throws AppError FORBIDDEN */
function requireDraft(
  context: Pick<HandlerContext<AdminCaller, unknown, unknown, unknown>, 'allows' | 'requestId'>,
  status: Policy['status'] = 'draft',
): void {
  if (status === 'draft' || context.allows(OPERATORS_ONLY)) return;
  throw new AppError('FORBIDDEN', 'Only operators activate and retire policies.');
}

function changeOf(action: string, { policy_version: resourceId, environment, status }: Policy) {
  return { action, resource: 'policy', resourceId, detail: { environment, status } };
}

function rowOf({ rules, ...policy }: Policy): Static<typeof PolicyAnswer> {
  return answerOf(PolicyAnswer, { ...policy, rules: rules === null ? null : (JSON.parse(rules) as object) });
}

function noPolicy(): AppError {
  return new AppError('NOT_FOUND', 'There is no such policy version.');
}
