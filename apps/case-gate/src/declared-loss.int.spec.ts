import { describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { onLossSite, UNCONFIRMED, type LossSite } from '../test/loss-site.ts';
import { check, sealedCase } from '../test/running-gate.ts';

let at: LossSite;
let site: LossSite['site'];
let other: LossSite['other'];
let key: string;
onLossSite((made) => {
  at = made;
  ({ site, other, key } = at);
});

describe('after a declared loss a subject that changed since the newest kept record', () => {
  it('is denied by every process, others are not, and its eligibility says unconfirmed', async () => {
    const { before, since } = await at.oneBeforeOneSince();
    for (const gate of [site, other]) {
      await at.becomes(gate, since, UNCONFIRMED);
      expect(await check(gate, key, before)).toBe('allow ELIGIBLE');
    }
    const question = { subject: { type: 'subject', id: since }, resource: { type: 'venue', id: 'hall' } };
    const authzen = await other.ask('POST', '/access/v1/evaluation', {
      key,
      body: { ...question, action: { name: 'enter' } },
    });
    expect(authzen.body).toMatchObject({ decision: false, context: { reason_codes: ['ELIGIBILITY_UNCONFIRMED'] } });
    const answer = await site.ask('POST', '/v1/gate/check', { key, body: { subject_ref: since, venue_id: 'hall' } });
    expect(answer).toMatchObject({ status: 200, body: { allow: false, fail_closed: false, valid_until: null } });
    for (const gate of [site, other]) {
      const read = (subjectRef: string) => gate.ask('GET', `/v1/eligibility/${subjectRef}`, { key });
      expect((await read(since)).body.status).toBe('unconfirmed');
      expect((await read(before)).body.status).toBe('eligible');
    }
  });

  it('is listed, page by page, and allowed once an operator confirmed the reviewed version', async () => {
    const { before, since } = await at.oneBeforeOneSince();
    const { subjectRef: second } = await sealedCase(site, key, { create: { subject_ref: `${since}_2` } });
    await at.declare((await at.changedMs(second)) - 1);
    for (const each of [since, second]) await at.isListed(each);
    expect(await at.listed(since)).toMatchObject({
      environment: 'live',
      status: 'unconfirmed',
      record_version: 3,
      cause: 'changed_since',
    });
    expect(await at.listed(before)).toBeUndefined();
    const first = await site.admin('GET', '/unconfirmed-subjects?limit=1');
    expect(first.body.items).toHaveLength(1);
    const next = await site.admin('GET', `/unconfirmed-subjects?limit=1&cursor=${first.body.nextCursor}`);
    expect(next.body.items[0].subject_ref > first.body.items[0].subject_ref).toBe(true);
    expect((await site.admin('GET', '/unconfirmed-subjects?environment=test')).body.items).toEqual([]);

    expectProblem(await at.confirm(since, 2), 'PRECONDITION_FAILED');
    expectProblem(await at.confirm(since, 4), 'PRECONDITION_FAILED');
    expectProblem(await at.confirm('subj_nobody', 1), 'NOT_FOUND');
    expectProblem(await at.confirm(since, 3, { environment: 'test' }), 'NOT_FOUND');
    expectProblem(await at.confirm(since, 0), 'INVALID_REQUEST');
    expectProblem(await site.admin('POST', `/subjects/${since}/confirm`, { record_version: 3 }), 'INVALID_REQUEST');
    expectProblem(await site.admin('POST', `/subjects/${since}/confirm`, { reason: 'x' }), 'INVALID_REQUEST');
    expect((await site.ask('POST', `/admin/v1/subjects/${since}/confirm`, { key })).status).toBe(404);
    expectProblem(await at.confirm(before, 2), 'INVALID_STATE_TRANSITION', { members: { current_status: 'eligible' } });
    for (const gate of [site, other]) expect(await check(gate, key, since)).toBe(UNCONFIRMED);

    expect(await at.confirm(since, 3)).toMatchObject({ status: 200, body: { status: 'eligible', record_version: 4 } });
    for (const gate of [site, other]) expect(await check(gate, key, since)).toBe('allow ELIGIBLE');
    // Repeated, as after a lost answer, nothing happens.
    expect(await at.confirm(since, 3)).toMatchObject({ status: 200, body: { record_version: 4 } });
    expect(await at.listed(since)).toBeUndefined();
    expect(await at.listed(second)).toBeDefined();
    // Answered once the ledger has it, with the name of the operator.
    expect(await at.versionsInLedger(since)).toEqual([1, 2, 3, 4]);
    expect((await at.inLedger(since)).at(-1).loss).toEqual({ epoch: at.newestEpoch(), unconfirmed: null });
    const { body } = await site.admin('GET', '/audit?limit=5');
    expect(body.items[0]).toMatchObject({
      action: 'subject.confirm',
      resource_id: since,
      detail: { environment: 'live', reason: 'Case file', record_version: '3' },
    });
    expect(body.items[0].actor).toMatch(/^admin/);
    const history = await site.admin('GET', `/subjects/${since}/history`);
    expect(history.body.items.map((row: { event: string }) => row.event).slice(0, 2)).toEqual([
      'confirmed',
      'unconfirmed',
    ]);
  }, 30_000);

  it('stays denied whatever other changes it gets, and can be revoked instead', async () => {
    const { since } = await at.oneBeforeOneSince();
    await at.isListed(since);
    const act = (action: string) => site.admin('POST', `/subjects/${since}/${action}`, { reason: 'Review' });
    expect((await act('suspend')).body).toMatchObject({ status: 'suspended', record_version: 4 });
    expect(await check(other, key, since)).toBe('deny ELIGIBILITY_SUSPENDED');
    expect(await at.listed(since)).toMatchObject({ status: 'suspended', record_version: 4 });
    expect((await act('reinstate')).body).toMatchObject({ status: 'unconfirmed', record_version: 5 });
    await sealedCase(site, key, { create: { subject_ref: since } });
    for (const gate of [site, other]) expect(await check(gate, key, since)).toBe(UNCONFIRMED);
    expect((await act('revoke')).body).toMatchObject({ status: 'revoked', record_version: 7 });
    expectProblem(await at.confirm(since, 7), 'INVALID_STATE_TRANSITION', { members: { current_status: 'revoked' } });
    expect(await at.listed(since)).toBeUndefined();
    expect(await check(other, key, since)).toBe('deny ELIGIBILITY_REVOKED');
  }, 30_000);

  it('is denied from the first moment, before the review wrote anything', async () => {
    const { since } = await at.oneBeforeOneSince();
    // No review takes place: a forged row says that it is done.
    await at.run('INSERT INTO gate.reviewed_losses (epoch, reviewed_at) VALUES ($1, now()) ON CONFLICT DO NOTHING', [
      at.newestEpoch(),
    ]);
    const later = await site.replica();
    expect(await check(later, key, since)).toBe(UNCONFIRMED);
    expect((await later.ask('GET', `/v1/eligibility/${since}`, { key })).body.status).toBe('unconfirmed');
    // It can be confirmed as it is; suspended and reinstated it stays unconfirmed.
    const { record_version: version } = await at.rowOf(since);
    for (const action of ['suspend', 'reinstate'])
      await later.admin('POST', `/subjects/${since}/${action}`, { reason: 'x' });
    expect(await check(later, key, since)).toBe(UNCONFIRMED);
    expect((await at.confirm(since, version + 2)).body.status).toBe('eligible');
    expect(await check(later, key, since)).toBe('allow ELIGIBLE');
  }, 30_000);

  it('needs another confirmation after a second loss, if the first is newer than what was kept then', async () => {
    const { before, since } = await at.oneBeforeOneSince();
    await at.isListed(since);
    const keptAtMs = await at.changedMs(since);
    await until(() => Date.now() > keptAtMs + 5);
    expect((await at.confirm(since, 3)).status).toBe(200);
    expect(await check(other, key, since)).toBe('allow ELIGIBLE');
    await at.declare(keptAtMs);
    for (const gate of [site, other]) {
      await at.becomes(gate, since, UNCONFIRMED);
      expect(await check(gate, key, before)).toBe('allow ELIGIBLE');
    }
    await until(async () => (await at.rowOf(since)).record_version === 5, { timeoutMs: 10_000 });
    expect((await at.confirm(since, 5)).status).toBe(200);
    expect(await check(other, key, since)).toBe('allow ELIGIBLE');
  }, 30_000);

  it('cannot be confirmed by writing or restoring rows of the tables', async () => {
    const { since } = await at.oneBeforeOneSince();
    const [untouched] = await at.run('SELECT * FROM gate.eligibility WHERE subject_ref = $1', [since]);
    await at.isListed(since);
    const [held] = await at.run('SELECT * FROM gate.eligibility WHERE subject_ref = $1', [since]);
    const put = async (row: object, history: string) => {
      await at.run('DELETE FROM gate.eligibility WHERE subject_ref = $1', [since]);
      await at.run(`DELETE FROM gate.eligibility_history WHERE subject_ref = $1 ${history}`, [since]);
      await at.run('INSERT INTO gate.eligibility SELECT * FROM jsonb_populate_record(NULL::gate.eligibility, $1)', [
        JSON.stringify(row),
      ]);
    };
    const document = String(held!['document']);
    for (const edited of [
      {
        ...held,
        document: document.replace('"unconfirmed":"changed_since"', '"unconfirmed":null'),
        status: 'eligible',
      },
      { ...held, status: 'eligible' },
      { ...held, changed_at: new Date(0).toISOString() },
      { ...held, document: document.replace(/"loss":\{[^}]*\},/, ''), status: 'eligible' },
    ]) {
      await put(edited, 'AND false');
      for (const gate of [site, other]) expect(await check(gate, key, since)).toBe('deny RECORD_INTEGRITY_FAILED');
    }
    // The row as it was before the loss was declared.
    await at.ledgerHas(since, 3);
    await put(untouched!, 'AND record_version > 2');
    const later = await site.replica();
    for (const gate of [site, other, later])
      expect(await check(gate, key, since)).toMatch(/^deny (RECORD_INTEGRITY_FAILED|ELIGIBILITY_UNCONFIRMED)$/);
    expect((await at.confirm(since, 2)).status).toBe(409);
    await put(held!, 'AND false');
    await at.run(
      `INSERT INTO gate.eligibility_history SELECT environment, subject_ref, record_version, 'unconfirmed', 'system',
         document, changed_at FROM gate.eligibility WHERE subject_ref = $1`,
      [since],
    );
    expect((await at.confirm(since, 3)).status).toBe(200);
  }, 30_000);
});

describe('after a declared loss a subject that did not change since', () => {
  it('is allowed and can be changed as usual, and so is a new one', async () => {
    const { before } = await at.oneBeforeOneSince();
    const act = (action: string) => site.admin('POST', `/subjects/${before}/${action}`, { reason: 'Review' });
    await at.becomes(other, before, 'allow ELIGIBLE');
    expect((await act('suspend')).body.status).toBe('suspended');
    expect((await act('reinstate')).body.status).toBe('eligible');
    const { subjectRef: fresh } = await sealedCase(site, key);
    for (const gate of [site, other])
      for (const each of [before, fresh]) expect(await check(gate, key, each)).toBe('allow ELIGIBLE');
    expect((await at.rowOf(before)).record_version).toBe(4);
  });

  it('is denied where the ledger lost its version, until it is confirmed; the ledger then has that version again', async () => {
    const { subjectRef } = await sealedCase(site, key);
    await at.ledgerHas(subjectRef, 2);
    const { subjectRef: kept } = await sealedCase(site, key);
    await at.ledgerHas(kept, 2);
    for (const gate of [site, other]) expect(await check(gate, key, subjectRef)).toBe('allow ELIGIBLE');
    await at.lose(subjectRef, 2);
    await at.declare(await at.changedMs(kept));
    const later = await site.replica();
    for (const gate of [site, other, later]) await at.becomes(gate, subjectRef, UNCONFIRMED);
    for (const gate of [site, later]) expect(await check(gate, key, kept)).toBe('allow ELIGIBLE');
    await at.isListed(subjectRef);
    expect(await at.listed(subjectRef)).toMatchObject({ cause: 'not_in_ledger', record_version: 3 });
    expect((await at.confirm(subjectRef, 3)).body.status).toBe('eligible');
    for (const gate of [site, other, later]) expect(await check(gate, key, subjectRef)).toBe('allow ELIGIBLE');
    await until(async () => String(await at.versionsInLedger(subjectRef)) === '1,2,3,4', { timeoutMs: 10_000 });
    expect((await at.inLedger(subjectRef)).find((data) => data.record_version === 2)).toMatchObject({
      current: { decision: 'approve' },
    });
  }, 30_000);

  it('is denied by all processes if one of them has seen a later version', async () => {
    const { subjectRef } = await sealedCase(site, key);
    await at.ledgerHas(subjectRef, 2);
    const keptAtMs = await at.changedMs(subjectRef);
    await at.rolledBack('eligibility', `subject_ref = '${subjectRef}'`, async () => {
      await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' });
      await at.ledgerHas(subjectRef, 3);
    });
    await at.run('DELETE FROM gate.eligibility_history WHERE subject_ref = $1 AND record_version > 2', [subjectRef]);
    await at.lose(subjectRef, 3);
    // This process knows of no revocation, and neither does the database any more.
    expect(await check(other, key, subjectRef)).toBe('allow ELIGIBLE');
    await at.declare(keptAtMs);
    await at.isListed(subjectRef);
    expect(await at.listed(subjectRef)).toMatchObject({ cause: 'newer_version_seen', record_version: 4 });
    const later = await site.replica();
    for (const gate of [site, other, later]) expect(await check(gate, key, subjectRef)).toBe(UNCONFIRMED);
    // The ledger knows of the lost version, so no earlier row can be restored.
    await until(async () => String(await at.versionsInLedger(subjectRef)) === '1,2,3,4', { timeoutMs: 10_000 });
    expect((await at.inLedger(subjectRef)).find((data) => data.record_version === 3)).toMatchObject({ lost: true });
    expect(site.logLines.some((line) => line.includes('lost_versions_seen'))).toBe(true);
    const revoked = await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'It was revoked on Monday' });
    expect(revoked.body).toMatchObject({ status: 'revoked', record_version: 5 });
    for (const gate of [site, other, later])
      expect(await check(gate, key, subjectRef)).toBe('deny ELIGIBILITY_REVOKED');
  }, 30_000);

  it('is not new if its rows are gone and a process has seen it', async () => {
    const { subjectRef: kept } = await sealedCase(site, key);
    await at.ledgerHas(kept, 2);
    const { subjectRef } = await sealedCase(site, key);
    await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'Fraud' });
    await until(async () => String(await at.versionsInLedger(subjectRef)) === '1,2,3', { timeoutMs: 10_000 });
    for (const table of ['eligibility', 'eligibility_history'])
      await at.run(`DELETE FROM gate.${table} WHERE subject_ref = $1`, [subjectRef]);
    await at.lose(subjectRef, 1);
    await at.declare(await at.changedMs(kept));
    await at.isListed(subjectRef);
    expect(await at.listed(subjectRef)).toMatchObject({ cause: 'newer_version_seen', record_version: 4 });
    await sealedCase(site, key, { create: { subject_ref: subjectRef } });
    for (const gate of [site, other]) expect(await check(gate, key, subjectRef)).toBe(UNCONFIRMED);
  }, 30_000);
});
