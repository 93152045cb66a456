import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { check, gateSite, newCase, sealedCase, SETUP_MS } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
beforeAll(async () => {
  site = await gateSite();
  ({ key } = site);
}, SETUP_MS);
afterAll(() => site.stop());

const attach = (caseId: string, attachments: unknown[]) =>
  site.ask('POST', `/v1/cases/${caseId}/attachments`, { key, body: { attachments } });
const decide = (caseId: string, body: object, as = key) =>
  site.ask('POST', `/v1/cases/${caseId}/decide`, { key: as, body: { policy_version: 'p1', ...body } });
const reference = (ref: string, digit = 'a') => ({
  kind: 'vault_ref',
  ref,
  sha256: digit.repeat(64),
  media_type: 'image/png',
  size_bytes: 1,
});

describe('deciding', () => {
  it('is recorded once per outcome, in any order of reason codes', async () => {
    const { caseId } = await newCase(site, key);
    const validUntil = '2099-01-01T02:00:00.000999999+02:00';
    const first = await decide(caseId, {
      decision: 'approve',
      reason_codes: ['B', 'A'],
      valid_until: validUntil,
      decided_by: 'Ada',
    });
    expect(first).toMatchObject({
      status: 201,
      body: {
        case_id: caseId,
        status: 'decided',
        policy_version: 'p1',
        decision: 'approve',
        valid_until: '2099-01-01T00:00:00.000Z',
      },
    });
    const again = await decide(caseId, {
      decision: 'approve',
      reason_codes: ['A', 'B', 'A'],
      valid_until: '2099-01-01T00:00:00Z',
    });
    expect({ status: again.status, text: again.text }).toEqual({ status: 200, text: first.text });
    for (const other of [
      { decision: 'decline' },
      { decision: 'approve' },
      { decision: 'refer', reason_codes: ['A'] },
    ]) {
      expectProblem(await decide(caseId, other), 'DECISION_CONFLICT');
    }
  });

  it('may refer first, then be final under the same version', async () => {
    const { caseId } = await newCase(site, key);
    const referred = await decide(caseId, { decision: 'refer', reason_codes: ['UNSURE'] });
    expect(referred).toMatchObject({ status: 201, body: { status: 'in_review', decision: 'refer' } });
    expect((await decide(caseId, { decision: 'refer', reason_codes: ['UNSURE'] })).body.decision_id).toBe(
      referred.body.decision_id,
    );
    expectProblem(await decide(caseId, { decision: 'refer' }), 'DECISION_CONFLICT');
    expect((await site.ask('GET', `/v1/cases/${caseId}`, { key })).body).toMatchObject({
      status: 'in_review',
      decision: null,
    });
    expect((await decide(caseId, { decision: 'approve' })).status).toBe(201);
    expectProblem(await decide(caseId, { decision: 'refer', reason_codes: ['UNSURE'] }), 'DECISION_CONFLICT');
  });

  it('is refused under versions that are unknown, drafts, retired, or without rules to decide by', async () => {
    await site.admin('POST', '/policies', { policy_version: 'draft' });
    await site.admin('POST', '/policies', { policy_version: 'old', status: 'active' });
    const { caseId } = await newCase(site, key);
    const kept = await newCase(site, key);
    await decide(kept.caseId, { policy_version: 'old', decision: 'approve' });
    await site.admin('PATCH', '/policies/old', { status: 'retired' });
    for (const version of ['nowhere', 'draft']) {
      expectProblem(await decide(caseId, { policy_version: version, decision: 'approve' }), 'UNKNOWN_POLICY_VERSION');
    }
    expectProblem(await decide(caseId, {}), 'UNKNOWN_POLICY_VERSION');
    expectProblem(await decide(caseId, { policy_version: 'old', decision: 'approve' }), 'POLICY_VERSION_RETIRED');
    // Earlier decisions are still replayed.
    expect((await decide(kept.caseId, { policy_version: 'old', decision: 'approve' })).status).toBe(200);
  });

  it('by rules is deterministic and reveals nothing of them', async () => {
    const rules = {
      rules: [
        { when: { in: ['passport', { var: 'attachment_labels' }] }, decision: 'approve', reason_codes: ['SHOWN'] },
      ],
      default: { decision: 'refer', reason_codes: ['NOT_SHOWN'] },
    };
    expect((await site.admin('POST', '/policies', { policy_version: 'ruled', status: 'active', rules })).status).toBe(
      201,
    );
    const { caseId } = await newCase(site, key);
    const decider = await site.newKey(['case:decide']);
    const referred = await decide(caseId, { policy_version: 'ruled' }, decider);
    expect(referred.body).toMatchObject({ decision: 'refer', reason_codes: ['NOT_SHOWN'] });
    await attach(caseId, [{ ...reference('v'), label: 'passport' }]);
    const approved = await decide(caseId, { policy_version: 'ruled' }, decider);
    expect(approved).toMatchObject({ status: 201, body: { decision: 'approve', reason_codes: ['SHOWN'] } });
    expect((await decide(caseId, { policy_version: 'ruled' }, decider)).text).toBe(approved.text);
    expect(approved.text).not.toMatch(/passport|attachment_labels/);
    expectProblem(await decide(caseId, { policy_version: 'ruled', decision: 'approve' }, decider), 'FORBIDDEN');
    expectProblem(await decide('case_none', { policy_version: 'ruled', decision: 'approve' }, decider), 'NOT_FOUND');
  });

  it('requires valid_until to be in the future', async () => {
    const { caseId } = await newCase(site, key);
    const past = await decide(caseId, { decision: 'approve', valid_until: '2020-01-01T00:00:00Z' });
    expectProblem(past, 'INVALID_REQUEST', { errors: [{ in: 'body', pointer: '/valid_until' }] });
  });

  it('is replayed after its end, byte for byte; another outcome with that end is a conflict', async () => {
    const { caseId } = await newCase(site, key);
    const end = Date.now() + 3_600_000;
    const body = { decision: 'approve', reason_codes: ['A'], valid_until: new Date(end).toISOString() };
    const first = await decide(caseId, body);
    expect(first.status).toBe(201);
    const later = await site.replica();
    later.advance(7_200_000);
    const ask = (more: object) =>
      later.ask('POST', `/v1/cases/${caseId}/decide`, { key, body: { policy_version: 'p1', ...body, ...more } });
    try {
      const again = await ask({});
      expect({ status: again.status, text: again.text }).toEqual({ status: 200, text: first.text });
      expectProblem(await ask({ decision: 'decline' }), 'DECISION_CONFLICT');
      const other = { valid_until: new Date(end + 1).toISOString() };
      expectProblem(await ask(other), 'INVALID_REQUEST', { errors: [{ in: 'body', pointer: '/valid_until' }] });
    } finally {
      await later.stop();
    }
  });

  it('applies a decline at once, sealed or not, and an approve once sealed', async () => {
    const { caseId, subjectRef } = await sealedCase(site, key);
    expect(await check(site, key, subjectRef)).toBe('allow ELIGIBLE');
    await site.admin('POST', '/policies', { policy_version: 'p2', status: 'active' });
    expect((await decide(caseId, { policy_version: 'p2', decision: 'decline' })).status).toBe(201);
    expect(await check(site, key, subjectRef)).toBe('deny INELIGIBLE');
    const { body } = await site.ask('GET', `/v1/eligibility/${subjectRef}`, { key });
    expect(body).toMatchObject({ status: 'ineligible', ledger_record_id: null, policy_version: 'p2' });
  });
});
