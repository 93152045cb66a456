import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { check, gateSite, newCase, sealNow, SETUP_MS } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
beforeAll(async () => {
  site = await gateSite();
  ({ key } = site);
}, SETUP_MS);
afterAll(() => site.stop());

const read = async (caseId: string) => (await site.ask('GET', `/v1/cases/${caseId}`, { key })).body;

describe('a decision', () => {
  it.each<[string, string]>([
    ['the decision', `UPDATE gate.decisions SET decision = 'approve' WHERE case_id = $1`],
    ['the end of its validity', `UPDATE gate.decisions SET valid_until = '2099-01-01' WHERE case_id = $1`],
    ['the subject', `UPDATE gate.cases SET subject_ref = 'subj_other' WHERE case_id = $1`],
    ['the venues', `UPDATE gate.cases SET venue_ids = '{*}' WHERE case_id = $1`],
    [
      'an attachment',
      `INSERT INTO gate.attachments SELECT 'att_' || $1, $1, 1, 'vault_ref', 'v', 'x', 'a/b', 1, NULL, now()`,
    ],
  ])('is sealed as it was made, or not at all: %s edited', async (_, statement) => {
    const { caseId, subjectRef } = await newCase(site, key);
    await site.ask('POST', `/v1/cases/${caseId}/decide`, { key, body: { policy_version: 'p1', decision: 'decline' } });
    await site.sql.query({ text: statement, values: [caseId] });
    expectProblem(await sealNow(site, key, { caseId, version: 'p1' }), 'INTERNAL');
    expect((await read(caseId)).status).toBe('decided');
    expect(await check(site, key, subjectRef)).toBe('deny INELIGIBLE');
  });
});

describe('a case', () => {
  const ATTACHMENT = `INSERT INTO gate.attachments SELECT 'att_' || $1, $1, 1, 'vault_ref', 'v', 'x', 'a/b', 1, NULL, now()`;

  it.each<[string, string]>([
    ['the subject', `UPDATE gate.cases SET subject_ref = 'subj_forged' WHERE case_id = $1`],
    ['the venues', `UPDATE gate.cases SET venue_ids = '{*}' WHERE case_id = $1`],
    ['the metadata', `UPDATE gate.cases SET metadata = '{"score":"99"}' WHERE case_id = $1`],
    ['the type', `UPDATE gate.cases SET case_type = 'trusted' WHERE case_id = $1`],
    ['the time it has', `UPDATE gate.cases SET expires_at = '2099-01-01' WHERE case_id = $1`],
    ['the MAC', `UPDATE gate.cases SET subject_ref = 'subj_forged', mac = '' WHERE case_id = $1`],
    ['the status', `UPDATE gate.cases SET subject_ref = 'subj_forged', status = 'decided' WHERE case_id = $1`],
    ['an attachment', ATTACHMENT],
  ])('is decided as it was sent, or not at all: %s edited', async (_, statement) => {
    const { caseId } = await newCase(site, key);
    await site.sql.query({ text: statement, values: [caseId] });
    const path = `/v1/cases/${caseId}`;
    expectProblem(await site.ask('PUT', `${path}/venues`, { key, body: { venue_ids: ['hall'] } }), 'INTERNAL');
    const attachments = [{ kind: 'vault_ref', ref: 'w', sha256: 'a'.repeat(64), media_type: 'a/b', size_bytes: 1 }];
    expectProblem(await site.ask('POST', `${path}/attachments`, { key, body: { attachments } }), 'INTERNAL');
    const body = { policy_version: 'p1', decision: 'approve' };
    expectProblem(await site.ask('POST', `${path}/decide`, { key, body }), 'INTERNAL');
    expect(await check(site, key, 'subj_forged')).toBe('deny SUBJECT_UNKNOWN');
  });

  it('without a MAC is never decided, whatever its id', async () => {
    const { caseId } = await newCase(site, key);
    const copy = caseId.replace('case_', 'case_f');
    await site.sql.query({
      text: `INSERT INTO gate.cases SELECT (jsonb_populate_record(c, jsonb_build_object('case_id', $2::text, 'mac', ''))).*
               FROM gate.cases c WHERE case_id = $1`,
      values: [caseId, copy],
    });
    const body = { policy_version: 'p1', decision: 'approve' };
    expectProblem(await site.ask('POST', `/v1/cases/${copy}/decide`, { key, body }), 'INTERNAL');
  });
});

describe('a policy version', () => {
  const rules = { rules: [], default: { decision: 'decline', reason_codes: [] } };

  it.each<[string, string]>([
    ['its rules', `UPDATE gate.policies SET rules = replace(rules, 'decline', 'approve') WHERE policy_version = $1`],
    ['its status', `UPDATE gate.policies SET status = 'active' WHERE policy_version = $1`],
    ['its environment', `UPDATE gate.policies SET environment = 'other' WHERE policy_version = $1`],
    ['its name', `UPDATE gate.policies SET policy_version = 'renamed' WHERE policy_version = $1`],
  ])('decides as it was written, or not at all: %s edited', async (what, statement) => {
    const version = `edited-${what.replaceAll(' ', '-')}`;
    const status = what === 'its status' ? 'draft' : 'active';
    await site.admin('POST', '/policies', { policy_version: version, status, rules });
    await site.sql.query({ text: statement, values: [version] });
    const { caseId } = await newCase(site, key);
    const named = what === 'its name' ? 'renamed' : version;
    const answer = await site.ask('POST', `/v1/cases/${caseId}/decide`, { key, body: { policy_version: named } });
    expectProblem(answer, what === 'its environment' ? 'UNKNOWN_POLICY_VERSION' : 'INTERNAL');
    expect((await read(caseId)).status).toBe('received');
  });
});
