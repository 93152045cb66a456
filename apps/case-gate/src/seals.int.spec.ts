import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { canonical, sha256 } from '@sealgate/json';
import { embeddedLedger } from '@sealgate/ledger-embedded';
import { ChannelHaltedError } from '@sealgate/ledger-port';
import { expectProblem, until } from '@sealgate/testing';
import { caseTransactionsOf, check, gateSite, newCase, sealedCase, sealNow, SETUP_MS } from '../test/running-gate.ts';
import { drainOutbox } from './data/background.ts';
import { sealCase, type SealPorts, type SealStep } from './domain/seal-case.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
const secret = 'k'.repeat(64);
beforeAll(async () => {
  site = await gateSite({ SERVER_SECRETS: `s1:${secret}` });
  ({ key } = site);
}, SETUP_MS);
afterAll(() => site.stop());

async function decidedCase(): Promise<{ caseId: string; subjectRef: string }> {
  const made = await newCase(site, key);
  const body = { policy_version: 'p1', decision: 'approve' };
  await site.ask('POST', `/v1/cases/${made.caseId}/decide`, { key, body });
  return made;
}

const recordsOf = (recordId: string) =>
  site.sql.query<{ data: string }>({ text: 'SELECT data FROM ledger.records WHERE id = $1', values: [recordId] });
const read = async (caseId: string) => (await site.ask('GET', `/v1/cases/${caseId}`, { key })).body;

describe('a seal', () => {
  it('is the document of the decision, hashed as stored in the ledger', async () => {
    const { caseId, subjectRef } = await newCase(site, key);
    const reference = { kind: 'vault_ref', ref: 'v', sha256: 'a'.repeat(64), media_type: 'a/b', size_bytes: 1 };
    const attached = await site.ask('POST', `/v1/cases/${caseId}/attachments`, {
      key,
      body: { attachments: [reference] },
    });
    const body = {
      policy_version: 'p1',
      decision: 'approve',
      reason_codes: ['B', 'A'],
      valid_until: '2099-01-01T00:00:00Z',
    };
    const decided = await site.ask('POST', `/v1/cases/${caseId}/decide`, { key, body });
    const sealed = await sealNow(site, key, { caseId, version: 'p1' });
    expect(Object.keys(sealed.body)).toEqual([
      ...['case_id', 'status', 'policy_version', 'ledger_record_id', 'seal_hash', 'seal_version', 'sealed_at'],
    ]);
    const [record] = await recordsOf(sealed.body.ledger_record_id);
    const document = {
      v: 1,
      case_id: caseId,
      subject_ref: subjectRef,
      environment: 'live',
      venue_ids: ['hall'],
      policy_version: 'p1',
      decision: 'approve',
      reason_codes: ['A', 'B'],
      valid_until: '2099-01-01T00:00:00.000Z',
      decided_at: decided.body.decided_at,
      decision_id: decided.body.decision_id,
      attachments: [{ attachment_id: attached.body.attachments[0].attachment_id, sha256: 'a'.repeat(64) }],
    };
    expect(record?.data).toBe(canonical(document));
    expect(sealed.body.seal_hash).toBe(sha256(canonical(document)).toString('hex'));
    expect(sealed.body.ledger_record_id).toMatch(/^ledger_rec_/);
  });

  it('is refused in the order of the contract', async () => {
    const ask = (caseId: string, name?: string) =>
      site.ask('POST', `/v1/cases/${caseId}/seal`, {
        key,
        ...(name === undefined ? {} : { headers: { 'idempotency-key': name } }),
      });
    const open = await newCase(site, key);
    expectProblem(await ask('case_missing'), 'NOT_FOUND');
    expectProblem(await ask('case_missing', 'x'), 'NOT_FOUND');
    expectProblem(await ask(open.caseId), 'IDEMPOTENCY_KEY_REQUIRED');
    for (const name of [
      'x',
      `${open.caseId}`,
      `${open.caseId}:`,
      `case_other:p1`,
      `${open.caseId}:p 1`.replace(' ', '/'),
    ]) {
      expectProblem(await ask(open.caseId, name), 'IDEMPOTENCY_KEY_MISMATCH');
    }
    for (const name of ['""', `"${open.caseId}:p1";x=1`, `"${open.caseId}:p1",`]) {
      expectProblem(await ask(open.caseId, name), 'INVALID_IDEMPOTENCY_KEY');
    }
    expectProblem(await ask(open.caseId, `${open.caseId}:p1`), 'CASE_NOT_DECIDED');
    expectProblem(await ask(open.caseId, `"${open.caseId}:p1"`), 'CASE_NOT_DECIDED');
    const decided = await decidedCase();
    expectProblem(await ask(decided.caseId, `${decided.caseId}:p2`), 'CASE_NOT_DECIDED');
    expectProblem(
      await site.ask('POST', `/v1/cases/${decided.caseId}/seal`, {
        key,
        body: { x: 1 },
        headers: { 'idempotency-key': 'x' },
      }),
      'INVALID_REQUEST',
    );
  });

  it('requested at once on two replicas is one record and one 201', async () => {
    const other = await site.replica();
    const { caseId } = await decidedCase();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => sealNow(index % 2 === 0 ? site : other, key, { caseId, version: 'p1' })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(11);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const replayed = answers.map(({ status, headers }) => `${status} ${headers['idempotent-replayed'] ?? ''}`);
    expect(new Set(replayed)).toEqual(new Set(['201 ', '200 true']));
    expect(await recordsOf(answers[0]!.body.ledger_record_id)).toHaveLength(1);
  });

  it('of an earlier version is replayed after a later decision', async () => {
    const { caseId, seal } = await sealedCase(site, key);
    await site.admin('POST', '/policies', { policy_version: 'p2', status: 'active' });
    const body = { policy_version: 'p2', decision: 'approve' };
    expect((await site.ask('POST', `/v1/cases/${caseId}/decide`, { key, body })).status).toBe(201);
    expect(await read(caseId)).toMatchObject({ status: 'decided', ledger_record_id: null, sealed_at: null });
    expect((await sealNow(site, key, { caseId, version: 'p1' })).text).toBe(seal.text);
    const second = await sealNow(site, key, { caseId, version: 'p2' });
    expect(second.status).toBe(201);
    const pack = await site.ask('GET', `/v1/cases/${caseId}/assessor-pack`, { key });
    expect(pack.body.seals).toHaveLength(2);
  });
});

/** The ports of one sealing process, which can crash at a step. */
function sealPorts(atStep?: (step: SealStep) => void, now = Date.now): SealPorts & { sql: typeof site.sql } {
  const secrets = ServerSecrets.parse(`s1:${secret}`);
  return {
    sql: site.sql,
    recordIds: secrets.derive('gate ledger records'),
    decisionMacs: secrets.derive('gate decisions'),
    inTransaction: caseTransactionsOf(site.sql, secrets),
    ledger: embeddedLedger({ sql: site.sql, origin: 'ledger.test', now: Date.now }),
    target: { network: 'gate', channel: 'gate.seals' },
    now,
    onCorrupt: () => undefined,
    onConflict: () => undefined,
    ...(atStep === undefined ? {} : { atStep }),
  };
}

/** Makes the outbox entries due. */
const makeDue = () => site.sql.query({ text: "UPDATE gate.outbox SET next_attempt_at = now() - interval '1 minute'" });

describe('a process that crashes while it seals', () => {
  it.each<SealStep>(['begun', 'appended', 'completed'])(
    'after it has %s leaves a seal that another one completes, once',
    async (step) => {
      const { caseId, subjectRef } = await decidedCase();
      const order = { environment: 'live', caseId, policyVersion: 'p1', actor: 'key_1' };
      const dying = sealPorts((at) => {
        if (at === step) throw new Error('killed');
      });
      await expect(sealCase(dying, order)).rejects.toThrow('killed');
      expect((await read(caseId)).status).toBe(step === 'completed' ? 'sealed' : 'sealing');
      if (step !== 'completed') expect(await check(site, key, subjectRef)).toBe('deny NO_SEALED_DECISION');
      await makeDue();
      await until(async () => (await read(caseId)).status === 'sealed', { timeoutMs: 10_000 });
      const again = await sealNow(site, key, { caseId, version: 'p1' });
      expect({ status: again.status, replayed: again.headers['idempotent-replayed'] }).toEqual({
        status: 200,
        replayed: 'true',
      });
      expect(await recordsOf(again.body.ledger_record_id)).toHaveLength(1);
      expect(await check(site, key, subjectRef)).toBe('allow ELIGIBLE');
      const pack = await site.ask('GET', `/v1/cases/${caseId}/assessor-pack`, { key });
      const events = pack.body.timeline.map((event: { event: string }) => event.event);
      expect(events).toEqual(['case.received', 'case.decided', 'case.sealing', 'case.sealed']);
    },
  );

  it.each([5, -5])(
    'with a clock %s minutes off leaves a seal that is due by the clock of the database',
    async (minutes) => {
      const { caseId } = await decidedCase();
      const killed = () => {
        throw new Error('killed');
      };
      const dying = sealPorts(killed, () => Date.now() + minutes * 60_000);
      const order = { environment: 'live', caseId, policyVersion: 'p1', actor: 'key_1' };
      await expect(sealCase(dying, order)).rejects.toThrow('killed');
      const [waiting] = await site.sql.query<{ seconds: number }>({
        text: `SELECT extract(epoch FROM o.next_attempt_at - clock_timestamp())::float8 AS seconds
               FROM gate.outbox o JOIN gate.seals s ON s.ledger_record_id = o.record_id WHERE s.case_id = $1`,
        values: [caseId],
      });
      // The lease of the request is 3.5 seconds.
      expect(Math.abs(waiting!.seconds)).toBeLessThanOrEqual(3.5);
      await makeDue();
      await until(async () => (await read(caseId)).status === 'sealed', { timeoutMs: 10_000 });
    },
  );

  it('may be followed by several that complete it at once', async () => {
    const { caseId } = await decidedCase();
    const order = { environment: 'live', caseId, policyVersion: 'p1', actor: 'key_1' };
    const dying = sealPorts(() => {
      throw new Error('killed');
    });
    await expect(sealCase(dying, order)).rejects.toThrow('killed');
    await makeDue();
    const ports = sealPorts();
    await Promise.all([
      ...Array.from({ length: 4 }, () => drainOutbox(ports, 'seals')),
      sealCase(ports, order),
      sealCase(ports, order),
    ]);
    expect((await read(caseId)).status).toBe('sealed');
    const history = await site.sql.query({
      text: `SELECT count(*)::int AS sealed FROM gate.timeline WHERE case_id = $1 AND event = 'case.sealed'`,
      values: [caseId],
    });
    expect(history).toEqual([{ sealed: 1 }]);
  });
});

describe('a ledger', () => {
  it('with a halted channel is named, and the seal completes once the channel resumes', async () => {
    const { caseId } = await decidedCase();
    const append = () => Promise.reject(new ChannelHaltedError('gate.seals'));
    const order = { environment: 'live', caseId, policyVersion: 'p1', actor: 'key_1' };
    await expect(sealCase({ ...sealPorts(), ledger: { append } }, order)).rejects.toMatchObject({
      code: 'LEDGER_UNAVAILABLE',
      message:
        'Channel gate.seals is halted, because records of it that were signed for are missing; the seal is completed once the channel resumes.',
    });
    expect((await read(caseId)).status).toBe('sealing');
    await makeDue();
    await until(async () => (await read(caseId)).status === 'sealed', { timeoutMs: 15_000 });
  });

  it('that is away is 503, and the seal completes without the client', async () => {
    const { caseId, subjectRef } = await decidedCase();
    await site.sql.query({ text: 'ALTER FUNCTION ledger.append RENAME TO append_away' });
    try {
      const refused = await sealNow(site, key, { caseId, version: 'p1' });
      expectProblem(refused, 'LEDGER_UNAVAILABLE');
      expect((await read(caseId)).status).toBe('sealing');
      expectProblem(
        await site.ask('POST', `/v1/cases/${caseId}/decide`, {
          key,
          body: { policy_version: 'p2', decision: 'approve' },
        }),
        'INVALID_STATE_TRANSITION',
        { members: { current_status: 'sealing' } },
      );
      expect(await check(site, key, subjectRef)).toBe('deny NO_SEALED_DECISION');
    } finally {
      await site.sql.query({ text: 'ALTER FUNCTION ledger.append_away RENAME TO append' });
    }
    await makeDue();
    await until(async () => (await read(caseId)).status === 'sealed', { timeoutMs: 15_000 });
    const after = await sealNow(site, key, { caseId, version: 'p1' });
    expect({ status: after.status, replayed: after.headers['idempotent-replayed'] }).toEqual({
      status: 200,
      replayed: 'true',
    });
    expect(await check(site, key, subjectRef)).toBe('allow ELIGIBLE');
  }, 30_000);

  it('that holds other content under the id is a conflict, which is reported to the operator', async () => {
    const { caseId, subjectRef } = await decidedCase();
    const ports = sealPorts();
    const { ledgerRecordId } = await import('./domain/versioned-record.ts');
    const id = ledgerRecordId(ports.recordIds, ['seal', caseId, 'p1']);
    await ports.ledger.append({
      network: 'gate',
      channel: 'gate.seals',
      note: '{}',
      records: [{ id, type: 'case.seal', owner: null, data: '{"forged":true}', extra: null }],
    });
    expectProblem(await sealNow(site, key, { caseId, version: 'p1' }), 'RECORD_CONFLICT');
    expectProblem(await sealNow(site, key, { caseId, version: 'p1' }), 'RECORD_CONFLICT');
    expect(site.logLines.some((line) => line.includes('ledger_record_conflict'))).toBe(true);
    expect(await check(site, key, subjectRef)).toBe('deny NO_SEALED_DECISION');
  });
});

describe('an assessor pack', () => {
  it('requires a seal, unless a draft is requested, which shows none', async () => {
    const { caseId } = await decidedCase();
    const ask = (query: string) => site.ask('GET', `/v1/cases/${caseId}/assessor-pack${query}`, { key });
    expectProblem(await ask(''), 'CASE_NOT_SEALED');
    expectProblem(await ask('?draft=false'), 'CASE_NOT_SEALED');
    expectProblem(await ask('?draft=maybe'), 'INVALID_REQUEST');
    expectProblem(await ask('?other=1'), 'UNKNOWN_PARAMETER');
    const draft = await ask('?draft=true');
    expect(draft).toMatchObject({ status: 200, body: { status: 'decided', seals: [] } });
    await sealNow(site, key, { caseId, version: 'p1' });
    expect((await ask('?draft=true')).body).toMatchObject({ status: 'sealed', seals: [] });
  });

  it('is audited on each export, and not part of the timeline', async () => {
    const { caseId } = await sealedCase(site, key);
    const exports = async () => {
      const { body } = await site.admin('GET', '/audit?limit=200');
      return body.items.filter(
        (row: Record<string, unknown>) => row['action'] === 'case.export' && row['resource_id'] === caseId,
      );
    };
    const first = await site.ask('GET', `/v1/cases/${caseId}/assessor-pack`, { key });
    const head = await site.ask('HEAD', `/v1/cases/${caseId}/assessor-pack`, { key });
    expect({ status: head.status, text: head.text }).toEqual({ status: 200, text: '' });
    const [second, one] = await exports();
    expect([second, one]).toMatchObject([
      { detail: { pack_hash: first.body.pack_hash } },
      { detail: { pack_hash: first.body.pack_hash } },
    ]);
    expect(first.body.timeline.map((event: { event: string }) => event.event)).not.toContain('case.exported');
  });
});
