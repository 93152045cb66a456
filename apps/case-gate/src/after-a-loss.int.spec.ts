import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { onLossSite, type LossSite } from '../test/loss-site.ts';
import { check, newCase, sealedCase, sealNow } from '../test/running-gate.ts';

let at: LossSite;
let site: LossSite['site'];
let other: LossSite['other'];
let key: string;
onLossSite((made) => {
  at = made;
  ({ site, other, key } = at);
});

describe('after a declared loss', () => {
  it('every check is denied while the declarations cannot be read', async () => {
    const { subjectRef } = await sealedCase(site, key);
    const later = await site.replica();
    expect(await check(later, key, subjectRef)).toBe('allow ELIGIBLE');
    await at.run('ALTER FUNCTION ledger.epochs RENAME TO epochs_away');
    later.advance(1000);
    const body = { subject_ref: subjectRef, venue_id: 'hall' };
    const answer = await later.ask('POST', '/v1/gate/check', { key, body });
    await at.run('ALTER FUNCTION ledger.epochs_away RENAME TO epochs');
    expect(answer.body).toMatchObject({ decision: 'deny', allow: false });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    await at.becomes(later, subjectRef, 'allow ELIGIBLE');
  });

  it('a revoked key stays revoked and a venue stays closed: the ledger gets the lost versions again', async () => {
    const { subjectRef } = await sealedCase(site, key, { create: { venue_ids: ['*'] } });
    const minted = (await site.admin('POST', '/keys', { label: 'x', environment: 'live', scopes: ['gate:check'] }))
      .body;
    await site.admin('POST', '/venues', { venue_id: 'pier', name: 'Pier' });
    await site.admin('DELETE', `/keys/${minted.id}`);
    await site.admin('PATCH', '/venues/pier', { active: false });
    for (const name of [minted.id, 'pier']) {
      await at.ledgerHas(name, 2);
      await at.lose(name, 2);
    }
    await at.declare(await at.changedMs(subjectRef));
    for (const name of [minted.id, 'pier']) {
      await at.ledgerHas(name, 2);
      await at.ledgerHas(name, 3);
    }
    const later = await site.replica();
    for (const gate of [site, other, later]) {
      expect(await check(gate, minted.rawKey, subjectRef)).toBe('deny UNAUTHENTICATED');
      expect(await check(gate, key, subjectRef, { venue_id: 'pier' })).toBe('deny VENUE_UNKNOWN');
    }
  }, 30_000);

  it('a key whose revocation is lost from the tables too is refused where a process has seen it, and so is a venue', async () => {
    const { subjectRef } = await sealedCase(site, key, { create: { venue_ids: ['*'] } });
    const minted = (await site.admin('POST', '/keys', { label: 'x', environment: 'live', scopes: ['gate:check'] }))
      .body;
    await site.admin('POST', '/venues', { venue_id: 'dock', name: 'Dock' });
    await at.rolledBack('api_keys', `id = '${minted.id}'`, async () => {
      await site.admin('DELETE', `/keys/${minted.id}`);
    });
    await at.rolledBack('venues', `venue_id = 'dock'`, async () => {
      await site.admin('PATCH', '/venues/dock', { active: false });
    });
    for (const name of [minted.id, 'dock']) await at.lose(name, 2);
    expect(await check(other, minted.rawKey, subjectRef, { venue_id: 'dock' })).toBe('allow ELIGIBLE');
    await at.declare(await at.changedMs(subjectRef));
    for (const name of [minted.id, 'dock']) await at.ledgerHas(name, 2);
    const later = await site.replica();
    for (const gate of [site, other, later]) {
      expect(await check(gate, minted.rawKey, subjectRef)).toBe('deny UNAUTHENTICATED');
      expect(await check(gate, key, subjectRef, { venue_id: 'dock' })).toBe('deny RECORD_INTEGRITY_FAILED');
    }
  }, 30_000);

  it('a lost seal is written again under its id, and its answers stay the same', async () => {
    const { caseId, subjectRef, seal } = await sealedCase(site, key);
    const { subjectRef: kept } = await sealedCase(site, key);
    await at.ledgerHas(kept, 2);
    const id = seal.body.ledger_record_id;
    const stored = () => at.run('SELECT data FROM ledger.records WHERE id = $1', [id]);
    const [before] = await stored();
    await at.run('DELETE FROM ledger.ids WHERE coalesce(id, uid::text) = $1', [id]);
    await at.run('DELETE FROM ledger.records WHERE id = $1', [id]);
    await at.declare(await at.changedMs(kept));
    const again = await sealNow(site, key, { caseId, version: 'p1' });
    expect(again).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' } });
    expect(again.body).toEqual(seal.body);
    await until(async () => (await stored()).length === 1, { timeoutMs: 10_000 });
    expect(await stored()).toEqual([before]);
    expect(await check(other, key, subjectRef)).toBe('allow ELIGIBLE');
    // Rows that fail their integrity check are not sealed again.
    const forged = await sealedCase(site, key);
    await at.run(`UPDATE gate.seals SET document = replace(document, 'approve', 'decline') WHERE case_id = $1`, [
      forged.caseId,
    ]);
    await at.run('DELETE FROM ledger.ids WHERE coalesce(id, uid::text) = $1', [forged.seal.body.ledger_record_id]);
    await at.declare(await at.changedMs(forged.subjectRef));
    // By any process.
    const reviewed = 'SELECT 1 FROM gate.reviewed_losses WHERE epoch = $1';
    await until(async () => (await at.run(reviewed, [at.newestEpoch()])).length === 1, { timeoutMs: 10_000 });
    for (const table of ['ledger.ids WHERE coalesce(id, uid::text)', 'gate.outbox WHERE record_id'])
      expect(await at.run(`SELECT 1 FROM ${table} = $1`, [forged.seal.body.ledger_record_id])).toEqual([]);
  }, 30_000);

  it('a case that was not sealed yet is sealed as usual', async () => {
    const { caseId, subjectRef } = await newCase(site, key);
    await at.declare(await at.changedMs(subjectRef));
    await site.ask('POST', `/v1/cases/${caseId}/decide`, { key, body: { policy_version: 'p1', decision: 'approve' } });
    expect((await sealNow(site, key, { caseId, version: 'p1' })).status).toBe(201);
    await at.becomes(other, subjectRef, 'allow ELIGIBLE');
  });
});
