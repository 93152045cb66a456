import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { gateSite, newCase, SETUP_MS } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
beforeAll(async () => {
  site = await gateSite();
  ({ key } = site);
}, SETUP_MS);
afterAll(() => site.stop());

const create = (body: { subject_ref: string; metadata?: object }, query: string) =>
  site.admin('POST', `/cases${query}`, body, { 'idempotency-key': body.subject_ref });

describe('policy rules', () => {
  const low = { '==': [{ var: 'metadata.risk' }, 'low'] };
  const rules = {
    rules: [
      { when: { '==': [{ var: 'metadata.country' }, 'DE'] }, decision: 'refer', reason_codes: ['ABROAD'] },
      { when: low, decision: 'approve', reason_codes: ['LOW'] },
    ],
    default: { decision: 'decline', reason_codes: ['HIGH'] },
  };

  it('are explained for a case before a decision, also those of drafts', async () => {
    await site.admin('POST', '/policies', { policy_version: 'draft-1', rules });
    const { caseId } = await newCase(site, key, { metadata: { risk: 'low', country: 'FR' } });
    const explained = await site.admin('GET', `/cases/${caseId}/explanation?policy_version=draft-1`);
    expect(explained.body).toEqual({
      policy_version: 'draft-1',
      decision: 'approve',
      reason_codes: ['LOW'],
      is_uncertain: false,
      facts: {
        case_type: 'onboarding',
        venue_ids: ['hall'],
        metadata: { risk: 'low', country: 'FR' },
        attachment_count: 0,
        attachment_kinds: [],
        attachment_labels: [],
      },
      rules: [
        { index: 0, decision: 'refer', reason_codes: ['ABROAD'], says: 'does_not_hold', missing: [], decides: false },
        { index: 1, decision: 'approve', reason_codes: ['LOW'], says: 'holds', missing: [], decides: true },
      ],
      default: { decision: 'decline', reason_codes: ['HIGH'], decides: false },
    });
    const other = await newCase(site, key, { metadata: { risk: 'low' } });
    const unsure = await site.admin('GET', `/cases/${other.caseId}/explanation?policy_version=draft-1`);
    expect(unsure.body).toMatchObject({
      decision: 'refer',
      is_uncertain: true,
      rules: [{ says: 'cannot_tell', missing: ['metadata.country'] }, { says: 'holds' }],
    });
    const ask = (path: string) => site.admin('GET', path);
    expectProblem(await ask(`/cases/${caseId}/explanation?policy_version=p1`), 'UNKNOWN_POLICY_VERSION');
    expectProblem(await ask(`/cases/${caseId}/explanation?policy_version=never`), 'UNKNOWN_POLICY_VERSION');
    expectProblem(await ask('/cases/case_never/explanation?policy_version=draft-1'), 'NOT_FOUND');
    expectProblem(await ask(`/cases/${caseId}/explanation`), 'INVALID_REQUEST');
  });

  it('are tried on the most recently decided cases, without writing anything', async () => {
    const environment = 'tried';
    const at = `?environment=${environment}`;
    await site.admin('POST', `/policies${at}`, { policy_version: 'old', status: 'active' });
    await site.admin('POST', `/policies${at}`, { policy_version: 'new', rules });
    const decided: string[] = [];
    for (const [n, risk] of ['low', 'high', 'low'].entries()) {
      const body = { subject_ref: `subj_tried_${n}`, metadata: { risk, country: 'FR' } };
      const { case_id: caseId } = (await create(body, at)).body;
      const decision = n === 2 ? 'decline' : 'approve';
      await site.admin('POST', `/cases/${caseId}/decide${at}`, {
        policy_version: 'old',
        decision,
        reason_codes: ['X'],
      });
      decided.push(caseId);
    }
    await create({ subject_ref: 'subj_open' }, at);
    const before = (await site.admin('GET', '/audit?limit=1')).body;
    const tried = await site.admin('POST', `/policies/new/try${at}`, { last_decided: 2 });
    expect(tried).toMatchObject({ status: 200, body: { policy_version: 'new', tried: 2, changes: 2, unchanged: 0 } });
    expect(tried.body.cases).toMatchObject([
      {
        case_id: decided[2],
        policy_version: 'old',
        was: { decision: 'decline', reason_codes: ['X'] },
        would_be: { decision: 'approve', reason_codes: ['LOW'] },
        changes: true,
        rules: ['does_not_hold', 'holds'],
      },
      { case_id: decided[1], was: { decision: 'approve' }, would_be: { decision: 'decline' }, changes: true },
    ]);
    const all = await site.admin('POST', `/policies/new/try${at}`, { last_decided: 500 });
    expect(all.body).toMatchObject({ tried: 3, changes: 2, unchanged: 1 });
    expect((await site.admin('GET', '/audit?limit=1')).body.items).toEqual(before.items);
    expect((await site.admin('GET', `/policies/new${at}`)).body.status).toBe('draft');
    for (const wrong of [{ last_decided: 0 }, { last_decided: 501 }, { last_decided: '5' }, {}])
      expectProblem(await site.admin('POST', `/policies/new/try${at}`, wrong), 'INVALID_REQUEST');
    expectProblem(await site.admin('POST', `/policies/old/try${at}`, { last_decided: 5 }), 'UNKNOWN_POLICY_VERSION');
    expectProblem(await site.admin('POST', `/policies/never/try${at}`, { last_decided: 5 }), 'UNKNOWN_POLICY_VERSION');
  });
});
