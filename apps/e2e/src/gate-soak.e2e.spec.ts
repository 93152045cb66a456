import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  describeWithRedis,
  throwawayPostgres,
  throwawayRedis,
  until,
  type OwnPostgres,
  type ThrowawayRedis,
} from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { askGate, gateSetup, type GateSetup } from './harness/gate-setup.ts';
import { startSoak, type Checked, type Life, type Soak } from './harness/gate-soak.ts';
import { canSeeProcesses, cutConnections, freezePostgres } from './harness/postgres-processes.ts';
import { boundMs, scaled } from './harness/scale.ts';
import { verify } from './harness/verifier.ts';

/** How long it goes on; `npm run soak:gate` says longer. */
const seconds = Number(process.env['SEALGATE_SOAK_SECONDS'] ?? scaled({ full: 60, quick: 10 }));
const storyTimeoutMs = seconds * 1000 + 180_000;
const describeOnLinux = canSeeProcesses
  ? describeWithRedis
  : (title: string, suite: () => void) => describe.skip(title, suite);

describeOnLinux('the case gate, with something breaking all the time,', () => {
  let postgres: OwnPostgres;
  let redis: ThrowawayRedis;
  let setup: GateSetup;
  beforeAll(async () => {
    [postgres, redis] = await Promise.all([throwawayPostgres({ own: true, durable: true }), throwawayRedis()]);
    setup = await gateSetup({ postgres, gates: 2, redisUrl: redis.url });
  }, setupTimeoutMs);
  afterAll(async () => {
    await setup.stop();
    await Promise.all([postgres.stop(), redis.stop()]);
  }, setupTimeoutMs);

  const database = (): string => new URL(postgres.url).pathname.slice(1);

  const faults: readonly (() => Promise<void>)[] = [
    async () => {
      const gate = setup.gates[0]!;
      await gate.kill();
      await gate.start();
    },
    async () => {
      cutConnections(postgres.pid, database());
    },
    async () => {
      const thaw = freezePostgres(postgres.pid);
      await delay(600);
      thaw();
    },
    async () => {
      const gate = setup.gates[1]!;
      await gate.kill();
      await gate.start();
    },
    async () => {
      process.kill(redis.pid, 'SIGSTOP');
      await delay(500);
      process.kill(redis.pid, 'SIGCONT');
    },
  ];

  async function breakThings(): Promise<number> {
    const endsMs = performance.now() + seconds * 1000;
    let broken = 0;
    while (performance.now() < endsMs) {
      await delay(300 + Math.random() * 700);
      await faults[broken % faults.length]!();
      broken += 1;
    }
    return broken;
  }

  /** No allow before a seal was asked for, none by a check that began after a revocation had answered. */
  function judgeChecks(checks: readonly Checked[]): void {
    const isAllow = ({ answer }: Checked): boolean => JSON.stringify(answer.body).includes('"allow":true');
    const wrong = checks.filter((each) => {
      const { life, startedMs, durationMs } = each;
      return isAllow(each) && (startedMs >= life.revokedMs || startedMs + durationMs < life.sealAskedMs);
    });
    expect(wrong.map(({ life, answer }) => ({ life, text: answer.text }))).toEqual([]);
    for (const { answer } of checks) {
      expect(answer.body).toMatchObject({
        decision: expect.stringMatching(/^(allow|deny)$/),
        allow: expect.any(Boolean),
      });
      if (answer.status !== 200) expect(answer.body).toMatchObject({ decision: 'deny', allow: false });
    }
    const slowest = Math.max(...checks.map(({ durationMs }) => durationMs));
    expect(slowest).toBeLessThan(boundMs(600));
    // It tells nothing if hardly anything was asked, allowed, and refused for an outage.
    expect(checks.filter(isAllow).length).toBeGreaterThan(20);
    expect(checks.some(({ life, startedMs }) => startedMs > life.revokedMs)).toBe(true);
  }

  /** Each seal once, the same for everybody who asked, and checked by somebody who has nothing but files. */
  async function judgeSeals({ lives }: Soak): Promise<void> {
    const texts = (life: Life) => new Set(life.seals.map(({ text }) => text));
    expect(lives.filter((life) => texts(life).size !== 1)).toEqual([]);
    expect(lives.filter(({ seals }) => seals.filter(({ status }) => status === 201).length > 1)).toEqual([]);
    const { gate, key, folder, verifierKey } = setup;
    const jwks = await askGate({ gate, key }, ['GET', '/.well-known/jwks.json']);
    writeFileSync(join(folder, 'jwks.json'), jwks.text);
    for (const life of lives.slice(0, 20)) {
      const pack = await askGate({ gate, key }, ['GET', `/v1/cases/${life.caseId}/assessor-pack`]);
      expect({ status: pack.status, text: pack.text }).toMatchObject({ status: 200 });
      writeFileSync(join(folder, 'pack.json'), pack.text);
      const { exitCode, text } = await verify(folder, 'pack', 'pack.json', '--jwks', 'jwks.json', '--key', verifierKey);
      expect({ exitCode, text }).toMatchObject({ exitCode: 0 });
    }
  }

  it(
    'lets nobody in wrongly, seals each case once, and mends itself',
    async () => {
      const soak = startSoak({ setup, applicants: 4, doors: 8 });
      const broken = await breakThings();
      await soak.finish();
      expect(broken).toBeGreaterThan(Math.min(5, seconds / 3));
      expect(soak.lives.length).toBeGreaterThan(10);
      judgeChecks(soak.checks);
      await judgeSeals(soak);
      for (const gate of setup.gates) {
        await until(async () => (await gate.ops.send({ path: '/health/ready' })).status === 200, { timeoutMs: 10_000 });
      }
      const { gate, key } = setup;
      for (const { caseId } of soak.lives) {
        const { body } = await askGate({ gate, key }, ['GET', `/v1/cases/${caseId}`]);
        expect(body).toMatchObject({ status: 'sealed' });
      }
    },
    storyTimeoutMs,
  );
});
