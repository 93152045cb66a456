import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, until, type OwnPostgres } from '@sealgate/testing';
import { check, gateSite, sealedCase, SETUP_MS } from '../test/running-gate.ts';
import { execFileSync } from 'node:child_process';

let postgres: OwnPostgres;
let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
let subjectRef: string;
beforeAll(async () => {
  postgres = await throwawayPostgres({ own: true, durable: true });
  site = await gateSite({ GATE_DEADLINE_MS: '250' }, postgres);
  ({ key } = site);
  ({ subjectRef } = await sealedCase(site, key));
  await until(async () => (await check(site, key, subjectRef)) === 'allow ELIGIBLE');
}, SETUP_MS);
afterAll(async () => {
  await postgres.restart().catch(() => undefined);
  await site.stop();
  await postgres.stop();
}, SETUP_MS);

/** Signals the server and all its child processes. */
function signal(name: 'SIGSTOP' | 'SIGCONT'): void {
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(postgres.pid)])
    .toString()
    .split('\n')
    .map(Number)
    .filter(Boolean);
  for (const pid of [postgres.pid, ...children]) process.kill(pid, name);
}

/** More time than the contract, for shared machines, but not enough to hide a hang. */
const SLACK = 3;

/** How many checks were denied because the store was away, as the alert counts them. */
const failedClosed = async (): Promise<number> =>
  Number(/^gate_decisions_total\{reason="BACKEND_UNAVAILABLE".*\} (\d+)$/m.exec(await site.metricsText())?.[1]);

async function expectDenied(): Promise<void> {
  const before = await failedClosed();
  for (let index = 0; index < 10; index += 1) {
    const startedMs = performance.now();
    const answer = await site.ask('POST', '/v1/gate/check', {
      key,
      body: { subject_ref: subjectRef, venue_id: 'hall' },
    });
    expect(performance.now() - startedMs).toBeLessThan(300 * SLACK);
    expect(answer).toMatchObject({
      status: 503,
      body: {
        code: 'UNAVAILABLE',
        decision: 'deny',
        allow: false,
        reason_codes: ['BACKEND_UNAVAILABLE'],
        fail_closed: true,
      },
    });
  }
  expect(await failedClosed()).toBe(before + 10);
}

async function expectNotReady(): Promise<void> {
  site.advance(1000); // Readiness is cached for less than that.
  const startedMs = performance.now();
  expect(await site.composition.ready()).toMatchObject({ ok: false });
  expect(performance.now() - startedMs).toBeLessThan(1000 * SLACK);
}

async function expectRecovery(): Promise<void> {
  await until(async () => (await check(site, key, subjectRef)) === 'allow ELIGIBLE', { timeoutMs: 10_000 });
  await until(async () => (await site.composition.ready()).ok, { timeoutMs: 10_000 });
}

describe('an unavailable store', () => {
  it('denies in time while frozen, is not ready, and recovers by itself', async () => {
    signal('SIGSTOP');
    try {
      await expectDenied();
      await expectNotReady();
      const started = performance.now();
      const other = await site.ask('GET', '/v1/cases/case_x', { key });
      expect(other).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
      expect(performance.now() - started).toBeLessThan(2000 * SLACK);
    } finally {
      signal('SIGCONT');
    }
    await expectRecovery();
  }, 60_000);

  it('denies at once while stopped, is not ready, and recovers by itself', async () => {
    await postgres.halt('immediate');
    await expectDenied();
    await expectNotReady();
    await postgres.restart();
    await expectRecovery();
  }, 60_000);

  it('logs every decision that it answered, however often its server stops meanwhile', async () => {
    const answered: string[] = [];
    let isOver = false;
    const knock = async (): Promise<void> => {
      while (!isOver) {
        const body = { subject_ref: subjectRef, venue_id: 'hall' };
        const answer = await site.ask('POST', '/v1/gate/check', { key, body });
        // A refusal is no decision: the key could not be checked.
        if (answer.status === 503) expect(answer.body).toMatchObject({ allow: false, code: 'UNAVAILABLE' });
        else answered.push(answer.body.decision_id);
      }
    };
    const doors = Array.from({ length: 8 }, knock);
    for (let stops = 0; stops < 3; stops += 1) {
      const before = answered.length;
      await until(() => answered.length >= before + 50, { timeoutMs: 10_000 });
      await postgres.halt('immediate');
      await postgres.restart();
    }
    isOver = true;
    await Promise.all(doors);
    const text = 'SELECT decision_id FROM gate.gate_decisions WHERE decision_id = ANY ($1)';
    await until(async () => (await site.sql.query({ text, values: [answered] })).length === answered.length, {
      timeoutMs: 10_000,
    });
  }, 60_000);
});
