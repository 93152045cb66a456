import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { check, gateSite, sealedCase, SETUP_MS } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
let subjectRef: string;
beforeAll(async () => {
  site = await gateSite();
  ({ key } = site);
}, SETUP_MS);
beforeEach(async () => {
  ({ subjectRef } = await sealedCase(site, key));
  expect(await check(site, key, subjectRef)).toBe('allow ELIGIBLE');
});
afterAll(() => site.stop());

const edit = (text: string, values: unknown[] = []) => site.sql.query({ text, values });

describe('a row that fails its integrity check', () => {
  it('is reported to the operator', async () => {
    await edit(`UPDATE gate.eligibility SET status = 'x' WHERE subject_ref = $1`, [subjectRef]);
    await check(site, key, subjectRef);
    await until(() => site.logLines.some((line) => line.includes('record_not_intact') && line.includes(subjectRef)));
  });
});

describe('a revocation', () => {
  const row = () => edit('SELECT * FROM gate.eligibility WHERE subject_ref = $1', [subjectRef]);
  const restore = async (old: object) => {
    await edit('DELETE FROM gate.eligibility WHERE subject_ref = $1', [subjectRef]);
    await edit('INSERT INTO gate.eligibility SELECT * FROM jsonb_populate_record(NULL::gate.eligibility, $1)', [
      JSON.stringify(old),
    ]);
  };
  const forgetHistory = (version: number) =>
    edit('DELETE FROM gate.eligibility_history WHERE subject_ref = $1 AND record_version > $2', [subjectRef, version]);
  const revoke = () => site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' });

  it('is not undone by restoring an older row with a valid MAC', async () => {
    const [before] = await row();
    await revoke();
    expect(await check(site, key, subjectRef)).toBe('deny ELIGIBILITY_REVOKED');
    await restore(before!);
    expect(await check(site, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    // Nor if every trace of it is removed, in a process that has seen it.
    await forgetHistory(2);
    expect(await check(site, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    // Nor in a process that has not, while the history exists.
    await edit(
      `INSERT INTO gate.eligibility_history SELECT environment, subject_ref, 3, 'revoked', 'x', document, changed_at
      FROM gate.eligibility WHERE subject_ref = $1`,
      [subjectRef],
    );
    expect(await check(await site.replica(), key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
  });

  it('is not undone by restoring everything before the next check', async () => {
    const [before] = await row();
    await revoke();
    await restore(before!);
    await forgetHistory(2);
    expect(await check(site, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
  });

  it('is not undone by deleting the row', async () => {
    await revoke();
    await check(site, key, subjectRef);
    await edit('DELETE FROM gate.eligibility WHERE subject_ref = $1', [subjectRef]);
    expect(await check(site, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    expect(await check(await site.replica(), key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    await forgetHistory(0);
    expect(await check(site, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
  });

  it('is not undone by a later approve', async () => {
    await revoke();
    await sealedCase(site, key, { create: { subject_ref: subjectRef } });
    expect(await check(site, key, subjectRef)).toBe('deny ELIGIBILITY_REVOKED');
  });

  it('is possible over a corrupt record, which nothing else repairs', async () => {
    await edit(`UPDATE gate.eligibility SET status = 'x' WHERE subject_ref = $1`, [subjectRef]);
    await sealedCase(site, key, { create: { subject_ref: subjectRef } });
    expect(await check(site, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    expect((await site.admin('POST', `/subjects/${subjectRef}/reinstate`, { reason: 'x' })).status).toBe(409);
    expect((await revoke()).body).toMatchObject({ status: 'revoked' });
    expect(await check(site, key, subjectRef)).toBe('deny ELIGIBILITY_REVOKED');
  });

  it('acts on every replica once it has answered, under load', async () => {
    const replicas = [site, await site.replica(), await site.replica()];
    const answers: { startedMs: number; answer: string }[] = [];
    let isOver = false;
    const load = replicas.flatMap((replica) =>
      Array.from({ length: 8 }, async () => {
        while (!isOver) {
          const startedMs = performance.now();
          answers.push({ startedMs, answer: await check(replica, key, subjectRef) });
        }
      }),
    );
    await until(() => answers.length > 200);
    await revoke();
    const answeredMs = performance.now();
    const before = answers.length;
    await until(() => answers.length > before + 300, { timeoutMs: 10_000 });
    isOver = true;
    await Promise.all(load);
    const after = answers.filter(({ startedMs }) => startedMs >= answeredMs);
    expect(answers.filter(({ answer }) => answer === 'allow ELIGIBLE').length).toBeGreaterThan(100);
    expect(after.length).toBeGreaterThan(100);
    expect(new Set(after.map(({ answer }) => answer))).toEqual(new Set(['deny ELIGIBILITY_REVOKED']));
  }, 30_000);
});

describe('a suspension', () => {
  it('ends only by reinstatement, and neither changes a revoked subject', async () => {
    const act = (action: string) => site.admin('POST', `/subjects/${subjectRef}/${action}`, { reason: 'Review' });
    expect((await act('suspend')).body).toMatchObject({ status: 'suspended', record_version: 3 });
    expect((await act('suspend')).body).toMatchObject({ record_version: 3 });
    expect(await check(site, key, subjectRef)).toBe('deny ELIGIBILITY_SUSPENDED');
    await sealedCase(site, key, { create: { subject_ref: subjectRef } });
    expect(await check(site, key, subjectRef)).toBe('deny ELIGIBILITY_SUSPENDED');
    expect((await act('reinstate')).body).toMatchObject({ status: 'eligible' });
    expect(await check(site, key, subjectRef)).toBe('allow ELIGIBLE');
    await act('revoke');
    for (const action of ['suspend', 'reinstate']) {
      expect(await act(action)).toMatchObject({
        status: 409,
        body: { code: 'INVALID_STATE_TRANSITION', current_status: 'revoked' },
      });
    }
    expect((await act('revoke')).status).toBe(200);
    expect((await site.admin('POST', '/subjects/subj_nobody/revoke', { reason: 'x' })).status).toBe(404);
    const history = await site.admin('GET', `/subjects/${subjectRef}/history`);
    const events = history.body.items.map((row: { event: string }) => row.event);
    expect(events).toEqual(['revoked', 'reinstated', 'approved', 'suspended', 'approved', 'registered']);
  });

  it('and every other change of a record is in the ledger', async () => {
    await site.admin('POST', `/subjects/${subjectRef}/suspend`, { reason: 'Review' });
    const versions = async () => {
      const rows = await edit(
        `SELECT data FROM ledger.records WHERE type = 'eligibility.record' AND data LIKE $1 ORDER BY idx`,
        [`%"${subjectRef}"%`],
      );
      return rows.map((row) => JSON.parse(String(row['data'])).record_version);
    };
    await until(async () => (await versions()).length === 3, { timeoutMs: 10_000 });
    expect((await versions()).sort()).toEqual([1, 2, 3]);
  });
});

describe('a venue', () => {
  it('acts at the gate once its change has answered', async () => {
    expect((await site.admin('PATCH', '/venues/hall', { active: false })).body).toMatchObject({ active: false });
    const replica = await site.replica();
    for (const one of [site, replica]) expect(await check(one, key, subjectRef)).toBe('deny VENUE_UNKNOWN');
    await site.admin('PATCH', '/venues/hall', { active: true });
    for (const one of [site, replica]) expect(await check(one, key, subjectRef)).toBe('allow ELIGIBLE');
    await site.admin('POST', '/venues', { venue_id: 'pier', name: 'Pier' });
    expect(await check(site, key, subjectRef, { venue_id: 'pier' })).toBe('deny VENUE_NOT_PERMITTED');
    expect(await check(site, key, subjectRef, { venue_id: 'nowhere' })).toBe('deny VENUE_UNKNOWN');
    expect(await check(site, key, subjectRef, { policy_version: 'p9' })).toBe('deny POLICY_VERSION_MISMATCH');
  });
});

describe('a key', () => {
  it('that was inserted or restored by hand is refused', async () => {
    const { createHash } = await import('node:crypto');
    const rawKey = `gk_${'A'.repeat(43)}`;
    const hash = createHash('sha256').update(rawKey).digest();
    await edit(
      `INSERT INTO gate.api_keys (id, owner_id, family_id, label, key_prefix, key_hash, grants, created_at)
       SELECT 'key_forged', 'live', 'key_forged', label, key_prefix, $1, grants, created_at FROM gate.api_keys LIMIT 1`,
      [hash],
    );
    expect((await site.ask('GET', '/v1/eligibility/subj_a', { key: rawKey })).status).toBe(401);
    const minted = await site.admin('POST', '/keys', { label: 'x', environment: 'live', scopes: ['eligibility:read'] });
    await site.admin('DELETE', `/keys/${minted.body.id}`);
    await edit('UPDATE gate.api_keys SET revoked_at = NULL WHERE id = $1', [minted.body.id]);
    expect((await site.ask('GET', '/v1/eligibility/subj_a', { key: minted.body.rawKey })).status).toBe(401);
  });
});
