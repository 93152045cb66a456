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
import { startSoak, type Life, type Soak, type Tally } from './harness/gate-soak.ts';
import { inParallel } from './harness/in-parallel.ts';
import { canSeeProcesses, cutConnections, freezePostgres } from './harness/postgres-processes.ts';
import { boundMs, scaled } from './harness/scale.ts';
import { verify } from './harness/verifier.ts';

const seconds = scaled({ full: 60, quick: 10 });
const storyTimeoutMs = seconds * 1000 + 180_000;
const describeOnLinux = canSeeProcesses
  ? describeWithRedis
  : (title: string, suite: () => void) => describe.skip(title, suite);

describeOnLinux('the case gate, under continuous faults,', () => {
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

  function judgeChecks({ checks, allowed, afterRevocation, slowestMs, wrong }: Tally): void {
    expect(wrong.map(({ life, answer }) => ({ life, text: answer.text }))).toEqual([]);
    expect(slowestMs).toBeLessThan(boundMs(600));
    // The story proves nothing if hardly any check was made, allowed, and made after a revocation.
    expect(allowed).toBeGreaterThan(20);
    expect(checks - allowed).toBeGreaterThan(20);
    expect(afterRevocation).toBeGreaterThan(0);
  }

  /** Each seal exists once, the same in every answer, and is verified from files alone. */
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
    'lets no subject in wrongly, seals each case once, and recovers by itself',
    async () => {
      const soak = startSoak({ setup, applicants: 4, doors: 8 });
      const broken = await breakThings();
      await soak.finish();
      expect(broken).toBeGreaterThan(3);
      expect(soak.lives.length).toBeGreaterThan(10);
      judgeChecks(soak.tally);
      await judgeSeals(soak);
      for (const gate of setup.gates) {
        await until(async () => (await gate.ops.send({ path: '/health/ready' })).status === 200, { timeoutMs: 10_000 });
      }
      const { gate, key } = setup;
      const unsealed: string[] = [];
      await inParallel(8, soak.lives.length, async (number) => {
        const { caseId } = soak.lives[number]!;
        const { body } = await askGate({ gate, key }, ['GET', `/v1/cases/${caseId}`]);
        if (body['status'] !== 'sealed') unsealed.push(caseId);
      });
      expect(unsealed).toEqual([]);
    },
    storyTimeoutMs,
  );
});
