import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { until } from '@sealgate/testing';
import { caseTransactionsOf, check, sealedCase, SETUP_MS } from '../test/running-gate.ts';
import { ask, newName, undoSite, type UndoSite } from '../test/undo.ts';
import { changeSubject } from './domain/change-eligibility.ts';

let at: UndoSite;
beforeAll(async () => {
  at = await undoSite();
}, SETUP_MS);
afterAll(() => at.stop());

const ofSubject = (subjectRef: string) => {
  const where = `subject_ref = '${subjectRef}'`;
  return { eligibility: where, eligibility_history: where };
};

describe('an operator', () => {
  it('gets the answer to a change once the ledger has it', async () => {
    const { site, key } = at;
    const { subjectRef } = await sealedCase(site, key);
    await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' });
    expect(await at.inLedger(subjectRef)).toContainEqual(expect.objectContaining({ record_version: 3 }));
    const { body: minted } = await site.admin('POST', '/keys', { label: 'x', environment: 'live', scopes: [] });
    await site.admin('DELETE', `/keys/${minted.id}`);
    const versions = await at.inLedger(minted.id);
    expect(versions).toMatchObject([
      { record_version: 1, revoked_at: null },
      { record_version: 2, revoked_at: expect.any(String) },
    ]);
    // Every reader of the ledger can see it: it contains neither the label nor the hash of a key.
    expect(Object.keys(versions[0]).sort()).toEqual(
      [
        'environment',
        'expires_at',
        'key_id',
        'mac',
        'overlap_until',
        'record_version',
        'revoked_at',
        'scopes',
        'v',
      ].sort(),
    );
  });

  it('revokes a key whose row says it is revoked, and one whose row is gone', async () => {
    const { site, other, key } = at;
    const { subjectRef } = await sealedCase(site, key);
    for (const hide of ['UPDATE gate.api_keys SET revoked_at = now()', 'DELETE FROM gate.api_keys']) {
      const raw = await site.newKey();
      const id = await at.idOfKey(raw);
      const before = await at.read();
      await at.run(`${hide} WHERE id = '${id}'`);
      expect((await site.admin('DELETE', `/keys/${id}`)).status).toBe(204);
      await at.restore(before, { api_keys: `id = '${id}'` });
      for (const gate of [site, other]) expect(await ask(gate, raw, subjectRef)).toBe('401 deny UNAUTHENTICATED');
    }
    expect((await site.admin('DELETE', '/keys/key_nobody')).status).toBe(404);
  });

  it('revokes a subject whose rows are gone, or contain the highest possible version', async () => {
    const { site, other, key } = at;
    for (const hide of [
      `DELETE FROM gate.eligibility WHERE subject_ref = $1`,
      `UPDATE gate.eligibility SET record_version = 2147483647 WHERE subject_ref = $1`,
    ]) {
      const { subjectRef } = await sealedCase(site, key);
      await until(async () => (await at.inLedger(subjectRef)).some(({ record_version: version }) => version === 2));
      const before = await at.read();
      await at.run(hide, [subjectRef]);
      if (hide.startsWith('DELETE'))
        await at.run(`DELETE FROM gate.eligibility_history WHERE subject_ref = $1`, [subjectRef]);
      expect((await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' })).status).toBe(200);
      for (const gate of [site, other]) expect(await check(gate, key, subjectRef)).toBe('deny ELIGIBILITY_REVOKED');
      await at.restore(before, ofSubject(subjectRef));
      for (const gate of [site, other]) expect(await check(gate, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    }
  });

  it('does not sign a forged row of a key that is replaced', async () => {
    const { site } = at;
    const id = await at.idOfKey(await site.newKey(['gate:check']));
    await at.run(
      `UPDATE gate.api_keys SET grants = jsonb_set(grants, '{scopes}', '["case:decide"]') WHERE id = '${id}'`,
    );
    const order = { label: 'next', environment: 'live', scopes: ['gate:check'], replaces: id, overlapSeconds: 60 };
    expect((await site.admin('POST', '/keys', order)).status).toBe(404);
  });

  it('creates a venue whose row is gone again, but not a policy version', async () => {
    const { site, other, key } = at;
    const venueId = newName('venue');
    await site.admin('POST', '/venues', { venue_id: venueId, name: 'Pier' });
    const { subjectRef } = await sealedCase(site, key, { create: { venue_ids: [venueId] } });
    await at.run('DELETE FROM gate.venues WHERE venue_id = $1', [venueId]);
    expect(await check(site, key, subjectRef, { venue_id: venueId })).toMatch(/^deny /);
    expect((await site.admin('POST', '/venues', { venue_id: venueId, name: 'Pier' })).status).toBe(201);
    for (const gate of [site, other])
      expect(await check(gate, key, subjectRef, { venue_id: venueId })).toBe('allow ELIGIBLE');

    const version = newName('gone-');
    await site.admin('POST', '/policies', { policy_version: version, status: 'active' });
    await at.run('DELETE FROM gate.policies WHERE policy_version = $1', [version]);
    expect((await site.admin('POST', '/policies', { policy_version: version })).status).toBe(409);
  });
});

describe('a revoked subject', () => {
  it('stays revoked however often it is approved after its rows were deleted', async () => {
    const { site, other, key } = at;
    const { subjectRef } = await sealedCase(site, key);
    await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' });
    for (const table of ['eligibility', 'eligibility_history']) {
      await at.run(`DELETE FROM gate.${table} WHERE subject_ref = $1`, [subjectRef]);
    }
    const later = await site.replica();
    for (let turn = 0; turn < 4; turn += 1) await sealedCase(later, key, { create: { subject_ref: subjectRef } });
    for (const gate of [site, later, other]) expect(await check(gate, key, subjectRef)).toMatch(/^deny /);
    const eligibility = await other.ask('GET', `/v1/eligibility/${subjectRef}`, { key });
    expect(eligibility.status).not.toBe(200);
  }, 30_000);

  it('has no eligibility answer if it was restored', async () => {
    const { site, other, key } = at;
    const { subjectRef } = await sealedCase(site, key);
    const before = await at.read();
    await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' });
    await at.restore(before, ofSubject(subjectRef));
    expect((await other.ask('GET', `/v1/eligibility/${subjectRef}`, { key })).status).toBe(500);
    // And can be revoked again, which repairs it.
    expect((await other.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' })).status).toBe(200);
    for (const gate of [site, other]) expect(await check(gate, key, subjectRef)).toBe('deny ELIGIBILITY_REVOKED');
  });

  it('is denied at once, and answered after about a second where the ledger is slow, which still gets the record', async () => {
    const { site, other, key } = at;
    const { subjectRef } = await sealedCase(site, key);
    await until(async () => (await at.inLedger(subjectRef)).length === 2);
    const before = await at.read();
    let answered = false;
    await site.sql.transaction(async (sql) => {
      // Appends wait for the head of the channel.
      await sql.query({ text: 'SELECT FROM ledger.channels FOR UPDATE' });
      const startedMs = performance.now();
      const revoked = site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' }).then((answer) => {
        answered = true;
        return answer;
      });
      await until(async () => (await check(other, key, subjectRef)) === 'deny ELIGIBILITY_REVOKED');
      expect(answered).toBe(false);
      expect((await revoked).status).toBe(200);
      const tookMs = performance.now() - startedMs;
      expect(tookMs).toBeGreaterThan(900);
      expect(tookMs).toBeLessThan(3000);
      // The outbox entry is not needed.
      await sql.query({ text: 'DELETE FROM gate.outbox WHERE data LIKE $1', values: [`%"${subjectRef}"%`] });
    });
    await until(async () => (await at.inLedger(subjectRef)).length === 3, { timeoutMs: 15_000 });
    await at.restore(before, ofSubject(subjectRef));
    for (const gate of [site, other]) expect(await check(gate, key, subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
  }, 30_000);

  it('by a process that crashed before the ledger had it, reaches the ledger by another process', async () => {
    const { site, other, key } = at;
    const { subjectRef } = await sealedCase(site, key);
    const parsed = ServerSecrets.parse(at.secrets);
    const dead = caseTransactionsOf(site.sql, parsed, { append: () => new Promise(() => undefined) });
    const ports = {
      recordIds: parsed.derive('gate ledger records'),
      decisionMacs: parsed.derive('gate decisions'),
      now: Date.now,
      onCorrupt: () => undefined,
    };
    const change = { environment: 'live', subjectRef, action: 'revoke', reason: 'Fraud', actor: 'dead' } as const;
    await dead((tx) => changeSubject(tx, ports, change));
    expect(await check(other, key, subjectRef)).toBe('deny ELIGIBILITY_REVOKED');
    await until(async () => (await at.inLedger(subjectRef)).length === 3, { timeoutMs: 10_000 });
    // A repeated request, as after a lost answer, changes nothing.
    expect((await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' })).body).toMatchObject({
      status: 'revoked',
      record_version: 3,
    });
  }, 30_000);
});
