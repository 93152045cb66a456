import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, throwawayPostgres, until } from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { peerSetup, type PeerSetup, type SyncSummary } from './harness/peer-setup.ts';
import { canSeeProcesses, freezePostgres } from './harness/postgres-processes.ts';

interface Job {
  readonly id: string;
  readonly status: string;
  readonly result?: SyncSummary;
}

const assets = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `${prefix}-${at}`, type: 'asset', data: { at } }));

async function doneJob(setup: PeerSetup, location: string): Promise<Job> {
  let job: Job | undefined;
  await until(
    async () => {
      const answer = await setup.ask('GET', location).catch(() => undefined);
      job = answer?.status === 200 ? (answer.body as Job) : undefined;
      return job?.status === 'done';
    },
    { timeoutMs: 40_000, what: 'a job that is done' },
  );
  return job!;
}

describe('A sender that does not wait', () => {
  let setup: PeerSetup;
  beforeAll(async () => {
    setup = await peerSetup();
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  const pushAsync = (body: object, more: Record<string, string> = {}) =>
    setup.ask('POST', '/api/assets', { body, headers: { Prefer: 'respond-async', ...more } });

  it('gets a job, which contains all that the answer would have contained', async () => {
    const answer = await pushAsync({ assets: assets('told', 3) });
    const { jobId, ...rest } = answer.body as { jobId: string };
    expect(answer).toMatchObject({ status: 202, headers: { 'preference-applied': 'respond-async' } });
    expect(jobId).toMatch(/^job_/);
    expect(rest).toEqual({ status: 'queued' });
    expect(answer.headers['location']).toBe(`/api/jobs/${jobId}`);
    const job = await doneJob(setup, `/api/jobs/${jobId}`);
    expect(Object.keys(job)).toEqual(['id', 'status', 'result']);
    expect(job.result).toMatchObject({
      summary: { total: 3, succeeded: 3, failed: 0, pending: 0 },
      succeeded: ['told-0', 'told-1', 'told-2'],
      transactions: [{ channel: 'acme.main', assetIds: ['told-0', 'told-1', 'told-2'] }],
    });
    const others = await setup.ask('GET', `/api/jobs/${jobId}`, { headers: { 'X-Api-Key': setup.otherKey } });
    const missing = await setup.ask('GET', '/api/jobs/job_none', { headers: { 'X-Request-Id': 'same' } });
    expectProblem(others, 'NOT_FOUND');
    const again = await setup.ask('GET', `/api/jobs/${jobId}`, {
      headers: { 'X-Api-Key': setup.otherKey, 'X-Request-Id': 'same' },
    });
    expect(again.text).toBe(missing.text);
  });

  it.each([
    ['Respond-Async', 202],
    ['wait=5, respond-async', 202],
    ['respond-async; x=1', 202],
    ['handling=lenient', 200],
    ['respond-asynchronously', 200],
  ])('asks for it by Prefer: %s is %i', async (prefer, status) => {
    const answer = await pushAsync({ assets: assets('prefer', 1) }, { Prefer: prefer });
    expect(answer.status).toBe(status);
    expect(answer.headers['preference-applied']).toBe(status === 202 ? 'respond-async' : undefined);
  });

  it('is refused at once where the request can never succeed', async () => {
    expectProblem(await pushAsync({ assets: [{ id: 'a', type: 'nobodys', data: {} }] }), 'UNKNOWN_CHAINCODE');
    expectProblem(await pushAsync({ assets: [] }), 'INVALID_REQUEST');
  });

  it('gets the same job for the same Idempotency-Key', async () => {
    const body = { assets: assets('same', 1) };
    const first = await pushAsync(body, { 'Idempotency-Key': 'same' });
    const again = await pushAsync(body, { 'Idempotency-Key': 'same' });
    expect(again.text).toBe(first.text);
    expect(again.headers).toMatchObject({ location: first.headers['location'], 'idempotent-replayed': 'true' });
  });
});

describe('A process that is killed', () => {
  it('has its jobs finished by another one, each asset written once', async () => {
    const setup = await peerSetup({ peers: 2 });
    try {
      const [first, second] = setup.peers;
      const locations: string[] = [];
      for (let at = 0; at < 6; at += 1) {
        const body = { assets: assets(`killed-${at}`, 500), options: { batchSize: 1 } };
        const answer = await setup.ask('POST', '/api/assets', {
          peer: first!,
          body,
          headers: { Prefer: 'respond-async' },
        });
        locations.push(String(answer.headers['location']));
      }
      await first!.kill();
      const asked = { ...setup, ask: (method: string, path: string) => setup.ask(method, path, { peer: second! }) };
      for (const location of locations) {
        const { result } = await doneJob(asked, location);
        expect(result?.summary).toEqual({ total: 500, succeeded: 500, failed: 0, pending: 0 });
        expect(result?.transactions).toHaveLength(500);
      }
      await first!.start();
      const rows = (await setup.admin.ask('GET', '/ledger/channels'))['items'] as { channel: string; size: number }[];
      expect(rows).toContainEqual(expect.objectContaining({ channel: 'acme.main', size: 3000 }));
      expect(await setup.admin.ask('POST', '/ledger/channels/acme.main/audit')).toMatchObject({ ok: true, size: 3000 });
    } finally {
      await setup.stop();
    }
  }, 180_000);

  it('finishes its jobs after a restart, and answers its keys', async () => {
    const setup = await peerSetup();
    try {
      const body = { assets: assets('again', 400), options: { batchSize: 1 } };
      const headers = { Prefer: 'respond-async', 'Idempotency-Key': 'job' };
      const promised = await setup.ask('POST', '/api/assets', { body, headers });
      // A second request is in flight when the process dies; its sender gets no answer.
      const slow = { assets: assets('slow', 1000), options: { batchSize: 1 } };
      const cut = setup
        .ask('POST', '/api/assets', { body: slow, headers: { 'Idempotency-Key': 'cut' } })
        .catch(() => undefined);
      await until(async () => (await setup.ask('GET', '/api/assets/slow-1')).status === 200);
      await setup.peer.kill();
      await cut;
      await setup.peer.start();
      const job = await doneJob(setup, String(promised.headers['location']));
      expect(job.result?.summary).toMatchObject({ total: 400, succeeded: 400 });
      let answer: HttpAnswer | undefined;
      await until(
        async () => {
          answer = await setup.ask('POST', '/api/assets', {
            body: slow,
            headers: { 'Idempotency-Key': 'cut' },
            timeoutMs: 30_000,
          });
          if (answer.status === 409) expectProblem(answer, 'IDEMPOTENCY_IN_PROGRESS');
          return answer.status === 200;
        },
        { timeoutMs: 40_000, what: 'the answer of the request that was cut' },
      );
      expect((answer?.body as SyncSummary).summary).toMatchObject({ total: 1000, succeeded: 1000 });
      const again = await setup.ask('POST', '/api/assets', { body: slow, headers: { 'Idempotency-Key': 'cut' } });
      expect(again.text).toBe(answer?.text);
      expect(await setup.admin.ask('POST', '/ledger/channels/acme.main/audit')).toMatchObject({ ok: true, size: 1400 });
    } finally {
      await setup.stop();
    }
  }, 180_000);
});

const withProcesses = canSeeProcesses ? describe : describe.skip;

withProcesses('A database that stands still', () => {
  it('leaves writes pending or refused, never failed, and their jobs report the true result afterwards', async () => {
    const postgres = await throwawayPostgres({ own: true });
    const setup = await peerSetup({ postgres });
    let thaw: (() => void) | undefined;
    try {
      let sent = 0;
      let isOver = false;
      const answers: { id: string; answer: HttpAnswer }[] = [];
      const sender = async () => {
        while (!isOver) {
          const id = `frozen-${(sent += 1)}`;
          const body = { assets: [{ id, type: 'asset', data: {} }] };
          const answer = await setup.ask('POST', '/api/assets', { body, timeoutMs: 20_000 });
          answers.push({ id, answer });
        }
      };
      const senders = Promise.all(Array.from({ length: 8 }, sender));
      await until(() => answers.length > 50);
      thaw = freezePostgres(postgres.pid);
      await until(() => answers.some(({ answer }) => answer.status !== 200), { timeoutMs: 20_000 });
      expect((await setup.peer.public.send({ path: '/health/live' })).text).toBe('{"status":"alive"}');
      const ready = await setup.peer.public.send({ path: '/health/ready', timeoutMs: 3_000 });
      expect(ready).toMatchObject({ status: 503, body: { status: 'unhealthy', reason: expect.any(String) } });
      expect(ready.headers['retry-after']).toBeUndefined();
      thaw();
      thaw = undefined;
      const before = answers.length;
      await until(() => answers.slice(before).some(({ answer }) => answer.status === 200), { timeoutMs: 30_000 });
      isOver = true;
      await senders;
      const pending = answers.filter(({ answer }) => answer.status === 202);
      expect(pending.length).toBeGreaterThan(0);
      for (const { id, answer } of answers) {
        if (answer.status === 503)
          expect(['LEDGER_UNAVAILABLE', 'OVERLOADED']).toContain((answer.body as { code: string }).code);
        else expect([200, 202]).toContain(answer.status);
        if (answer.status !== 200) continue;
        expect((answer.body as SyncSummary).failed).toEqual([]);
        expect(id).toMatch(/^frozen/);
      }
      for (const { id, answer } of pending) {
        const { pending: open, jobId } = answer.body as SyncSummary;
        expect(open).toEqual([{ id, index: 0, transactionId: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
        expect(answer.headers['location']).toBe(`/api/jobs/${jobId}`);
        const { result } = await doneJob(setup, `/api/jobs/${jobId}`);
        expect(result).toMatchObject({ succeeded: [id], summary: { pending: 0, failed: 0 } });
        expect((await setup.ask('GET', `/api/assets/${id}`)).status).toBe(200);
      }
      expect(await setup.admin.ask('POST', '/ledger/channels/acme.main/audit')).toMatchObject({ ok: true });
    } finally {
      thaw?.();
      await setup.stop();
      await postgres.stop();
    }
  }, 180_000);
});
