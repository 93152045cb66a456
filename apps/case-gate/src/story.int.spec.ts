import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { verifyDetached } from '@sealgate/envelope';
import { canonical, canonicalHash } from '@sealgate/json';
import { check, gateSite, newCase, sealedCase, sealNow, SETUP_MS } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
beforeAll(async () => {
  site = await gateSite();
  ({ key } = site);
}, SETUP_MS);
afterAll(() => site.stop());

const hashOf = (digit: string) => digit.repeat(64);
const reference = (ref: string, sha256 = hashOf('a')) => ({
  kind: 'vault_ref',
  ref,
  sha256,
  media_type: 'application/pdf',
  size_bytes: 12,
});

describe('the life of a case', () => {
  it('from creation to the door, and to revocation', async () => {
    const { caseId, subjectRef } = await newCase(site, key);
    expect(caseId).toMatch(/^case_/);
    expect(await check(site, key, subjectRef)).toBe('deny NO_SEALED_DECISION');
    const path = `/v1/cases/${caseId}`;
    const attached = await site.ask('POST', `${path}/attachments`, {
      key,
      body: { attachments: [reference('v/1'), reference('v/2', hashOf('b'))] },
    });
    expect(attached).toMatchObject({ status: 201, body: { status: 'in_review', attachments: [{ ref: 'v/1' }, {}] } });
    const decided = await site.ask('POST', `${path}/decide`, {
      key,
      body: { policy_version: 'p1', decision: 'approve', reason_codes: ['B', 'A', 'B'] },
    });
    expect(decided).toMatchObject({ status: 201, body: { status: 'decided', reason_codes: ['A', 'B'] } });
    // An approve counts only once it is sealed.
    expect(await check(site, key, subjectRef)).toBe('deny NO_SEALED_DECISION');
    const sealed = await sealNow(site, key, { caseId, version: 'p1' });
    expect(sealed.status).toBe(201);
    expect(sealed.headers['idempotent-replayed']).toBeUndefined();
    const again = await sealNow(site, key, { caseId, version: 'p1' });
    expect({ status: again.status, text: again.text }).toEqual({ status: 200, text: sealed.text });
    expect(again.headers['idempotent-replayed']).toBe('true');
    const read = await site.ask('GET', path, { key });
    expect(read.body).toEqual({
      case_id: caseId,
      status: 'sealed',
      subject_ref: subjectRef,
      venue_ids: ['hall'],
      policy_version: 'p1',
      decision: 'approve',
      decision_id: decided.body.decision_id,
      attachment_count: 2,
      ledger_record_id: sealed.body.ledger_record_id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      decided_at: decided.body.decided_at,
      sealed_at: sealed.body.sealed_at,
      expires_at: expect.any(String),
    });
    expect(Date.parse(read.body.expires_at) - Date.parse(read.body.created_at)).toBe(90 * 86_400_000);
    const eligibility = await site.ask('GET', `/v1/eligibility/${subjectRef}`, { key });
    const { evidence_hash: evidence, signature, ...rest } = eligibility.body;
    expect(rest).toMatchObject({
      status: 'eligible',
      ledger_record_id: sealed.body.ledger_record_id,
      record_version: 2,
    });
    expect(evidence).toBe(canonicalHash(rest));
    const jwks = (await site.ask('GET', '/.well-known/jwks.json')).body;
    expect(verifyDetached(Buffer.from(canonical(rest)), signature, jwks).ok).toBe(true);
    expect(eligibility.headers['cache-control']).toBe('no-store');
    const allowed = await site.ask('POST', '/v1/gate/check', {
      key,
      body: { subject_ref: subjectRef, venue_id: 'hall' },
    });
    expect(allowed.body).toEqual({
      decision: 'allow',
      allow: true,
      decision_id: expect.stringMatching(/^gd_/),
      subject_ref: subjectRef,
      venue_id: 'hall',
      policy_version: 'p1',
      reason_codes: ['ELIGIBLE'],
      ledger_record_id: sealed.body.ledger_record_id,
      evaluated_at: expect.any(String),
      valid_until: null,
      fail_closed: false,
    });
    const revoked = await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' });
    expect(revoked).toMatchObject({ status: 200, body: { status: 'revoked', revocation_reason: 'Fraud' } });
    expect(await check(site, key, subjectRef)).toBe('deny ELIGIBILITY_REVOKED');
  });

  it('has a pack that differs only in its time, whatever happens to other cases', async () => {
    const { caseId } = await sealedCase(site, key);
    const first = await site.ask('GET', `/v1/cases/${caseId}/assessor-pack`, { key });
    expect(first.status).toBe(200);
    for (let other = 0; other < 3; other += 1) await sealedCase(site, key);
    const second = await site.ask('GET', `/v1/cases/${caseId}/assessor-pack`, { key });
    const strip = ({ generated_at: _at, ...rest }: Record<string, unknown>) => rest;
    expect(JSON.stringify(strip(second.body))).toBe(JSON.stringify(strip(first.body)));
    const page = await site.ask('GET', `/v1/cases/${caseId}/assessor-pack`, { key, headers: { accept: 'text/html' } });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    for (const name of Object.keys(first.body)) expect(page.text.toLowerCase()).toContain(name.split('_')[0]);
    expect(page.text).toContain(first.body.pack_hash);
    expect(page.text).toContain(first.body.seals[0].seal_hash);
  });
});
