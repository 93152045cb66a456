import { ADMIN_BODY_MAX_BYTES, adminBase, adminRoute, POLICIES, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, enumOf, named, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import type { SignedRows } from '../data/signed-rows.ts';
import type { PackPorts } from '../domain/assessor-pack.ts';
import { noCase } from '../domain/case-lifetime.ts';
import { factsOf, type CaseFacts } from '../domain/case-facts.ts';
import { explainRules } from '../domain/policy-rules.ts';
import type { Policy, PolicyRules } from '../domain/policy.ts';
import { rulesOf, tryPolicy, type TriedCase, type TryPorts } from '../domain/manage-policies.ts';
import { answerOf, Outcome, PolicyVersion, Text, Texts, Time } from '../schemas.ts';
import { EnvironmentQuery, environmentOf, environmentQuery } from './admin-base.ts';
import { ofCase } from './admin-cases.ts';

const Says = enumOf('RuleSays', ['holds', 'does_not_hold', 'cannot_tell'], {
  description: '`cannot_tell`: a fact that the rule names is missing, of the wrong type, or matched against a text.',
});
const ruling = { decision: Outcome, reason_codes: Texts };

const Explained = named(
  'Explanation',
  Type.Object({
    policy_version: Text,
    ...ruling,
    is_uncertain: Type.Boolean({ description: 'A rule could not be evaluated, so the case cannot be approved.' }),
    facts: Type.Object({}, { additionalProperties: true, description: 'All facts of the case available to rules.' }),
    rules: Type.Array(
      named(
        'ExplainedRule',
        Type.Object({
          index: Type.Integer(),
          ...ruling,
          says: Says,
          missing: Type.Array(Text, { description: 'Facts that the rule names and the case does not have.' }),
          decides: Type.Boolean(),
        }),
      ),
      { description: 'In order, including rules after the one that decides.' },
    ),
    default: named('ExplainedDefault', Type.Object({ ...ruling, decides: Type.Boolean() })),
  }),
);

const Ruled = named('TriedRuling', Type.Object(ruling));
const TriedCaseAnswer = named(
  'TriedCase',
  Type.Object({
    case_id: Text,
    subject_ref: Text,
    policy_version: Type.String({ description: 'The version that the case was decided under.' }),
    decided_at: Time,
    was: Ruled,
    would_be: Ruled,
    changes: Type.Boolean(),
    rules: Type.Array(Says, { description: 'The result of each rule, in order.' }),
  }),
);
const Tried = named(
  'PolicyTrial',
  Type.Object({
    policy_version: Text,
    tried: Type.Integer({
      description: 'Fewer than requested if there are no more, or if they have too many attachments.',
    }),
    changes: Type.Integer({ description: 'Number of cases whose decision would change.' }),
    unchanged: Type.Integer(),
    cases: Type.Array(TriedCaseAnswer, { description: 'Most recently decided first.' }),
  }),
);

export interface AdminRulingsPorts extends TryPorts, Pick<PackPorts, 'readCaseFile'> {
  readonly policies: Pick<SignedRows<Policy>, 'find'>;
}

/** Explains and tries the decisions of a policy version, including drafts. Writes nothing. */
export function adminRulingRoutes(ports: AdminRulingsPorts): Route<AdminCaller>[] {
  const explain = adminRoute({
    ...adminBase,
    permit: POLICIES.read,
    method: 'get',
    path: '/admin/v1/cases/:case_id/explanation',
    operationId: 'explainCase',
    summary: 'Explain the result of each rule of a policy version for a case',
    params: ofCase,
    query: Type.Object({ ...environmentQuery, policy_version: PolicyVersion }, { additionalProperties: false }),
    responses: { 200: { description: 'The ruling and why.', schema: Explained } },
    errors: ['NOT_FOUND', 'UNKNOWN_POLICY_VERSION'],
    async handler({ params, query }) {
      const environment = environmentOf({}, query);
      const file = await ports.readCaseFile(environment, params.case_id);
      if (file === undefined) throw noCase();
      const rules = rulesOf(await ports.policies.find([environment, query.policy_version]));
      return { status: 200, body: explanationOf(query.policy_version, rules, factsOf(file.record, file.attachments)) };
    },
  });
  const trial = adminRoute({
    ...adminBase,
    permit: POLICIES.draft,
    method: 'post',
    path: '/admin/v1/policies/:policy_version/try',
    operationId: 'tryPolicy',
    summary: 'Try a policy version on the most recently decided cases; writes nothing',
    params: Type.Object({ policy_version: PolicyVersion }),
    query: EnvironmentQuery,
    body: closedObject({ last_decided: Type.Integer({ minimum: 1, maximum: 500 }) }),
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'Each case, and whether its decision would change.', schema: Tried } },
    errors: ['NOT_FOUND', 'UNKNOWN_POLICY_VERSION'],
    async handler({ params: { policy_version: version }, query, body }) {
      const environment = environmentOf({}, query);
      const rules = rulesOf(await ports.policies.find([environment, version]));
      const cases = await tryPolicy(ports, { environment, rules, limit: body.last_decided });
      const changes = cases.filter((one) => one.changes).length;
      const answer: Static<typeof Tried> = {
        policy_version: version,
        tried: cases.length,
        changes,
        unchanged: cases.length - changes,
        cases: cases.map(triedRow),
      };
      return { status: 200, body: answer };
    },
  });
  return [explain, trial];
}

function explanationOf(version: string, policy: PolicyRules, facts: CaseFacts): Static<typeof Explained> {
  const { ruling: outcome, results, deciding, isUncertain } = explainRules(policy, facts);
  const { decision, reason_codes: codes } = policy.default;
  return {
    policy_version: version,
    decision: outcome.decision,
    reason_codes: [...outcome.reason_codes],
    is_uncertain: isUncertain,
    facts: { ...facts },
    rules: policy.rules.map((rule, index) => ({
      index,
      decision: rule.decision,
      reason_codes: [...rule.reason_codes],
      says: results[index]!.says,
      missing: [...results[index]!.missing],
      decides: index === deciding,
    })),
    default: { decision, reason_codes: [...codes], decides: deciding === undefined },
  };
}

function triedRow({ wouldBe, results, ...tried }: TriedCase): Static<typeof TriedCaseAnswer> {
  return answerOf(TriedCaseAnswer, { ...tried, would_be: wouldBe, rules: results.map(({ says }) => says) });
}
