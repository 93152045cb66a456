import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  describeWithRedis,
  redisRules,
  redisSite,
  until,
  type RedisForm,
  type RedisSite,
  type ThrowawayPostgres,
} from '@sealgate/testing';
import { membersOf } from './harness/admin-client.ts';
import { migratedPostgres } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { askGate, gateSetup, type GateSetup } from './harness/gate-setup.ts';
import type { Gateway } from './harness/gateway-process.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { install, type Installation } from './harness/installation.ts';
import { batchOrders, checkReplays, startLoad, type Attempt } from './harness/load.ts';
import { peerSetup, type PeerSetup } from './harness/peer-setup.ts';
import { askRisk, riskSetup, type RiskSetup } from './harness/risk-setup.ts';
import { isFull } from './harness/scale.ts';
import { sender } from './harness/sender.ts';

const storyTimeoutMs = 180_000;
const sharedWithinMs = 30_000;
const betweenAsksMs = 20;
const hangMs = isFull ? 900 : 5_000;

type Setups = readonly [Installation, GateSetup, PeerSetup, RiskSetup];

/** All surfaces that limit by Redis, on one site of a form. Each logs in with the user of the page. */
class Surfaces {
  readonly gateway: Installation;
  readonly gate: GateSetup;
  readonly peer: PeerSetup;
  readonly risk: RiskSetup;
  readonly #riskKey: string;
  readonly #databases: readonly ThrowawayPostgres[];

  private constructor(setups: Setups, riskKey: string, databases: readonly ThrowawayPostgres[]) {
    [this.gateway, this.gate, this.peer, this.risk] = setups;
    this.#riskKey = riskKey;
    this.#databases = databases;
  }

  static async on(site: RedisSite): Promise<Surfaces> {
    const env = (user: string) => ({ REDIS_URL: site.url(user), NODE_EXTRA_CA_CERTS: site.caFile });
    const databases: ThrowawayPostgres[] = [];
    const of = async (surface: string) => {
      const postgres = await migratedPostgres(surface);
      databases.push(postgres);
      return postgres;
    };
    const setups: Setups = [
      await install({ postgres: await of('ingest-gateway'), gateways: 2, env: env('ingest-gateway') }),
      await gateSetup({ postgres: await of('case-gate'), env: env('case-gate') }),
      await peerSetup({ postgres: await of('ledger-peer'), env: env('ledger-peer') }),
      await riskSetup(await of('risk-partner'), env('risk-partner')),
    ];
    const { key } = await setups[3].newPerson(['auditor']);
    return new Surfaces(setups, key, databases);
  }

  get processes(): readonly Gateway[] {
    return [this.gateway, this.gate, this.peer, this.risk].flatMap(({ processes }) => processes);
  }

  /** Every process reports that it shares its limits, by readiness and metric, and that nothing is wrong. */
  becomeShared(): Promise<void> {
    const check = async ({ ops }: Gateway): Promise<void> => {
      const [ready, metrics] = await Promise.all([ops.send({ path: '/health/ready' }), ops.send({ path: '/metrics' })]);
      const { limits = 'shared', redis, reason } = membersOf(ready.body);
      const isTold = ready.status === 200 && limits === 'shared' && redis === undefined && reason === undefined;
      if (!isTold || !/^limits_shared\{.*\} 1$/m.test(metrics.text)) throw new Error(ready.text);
    };
    const areShared = () => Promise.all(this.processes.map(check)).then(() => true);
    return until(areShared, { timeoutMs: sharedWithinMs, what: 'limits shared by all processes' });
  }

  /** Every process reports this problem of Redis, in readiness and log, while it is ready. */
  allTell(problem: string): Promise<void> {
    const tells = async (one: Gateway): Promise<boolean> => {
      const { status, body } = await one.ops.send({ path: '/health/ready' });
      const { redis, reason = redis } = membersOf(body);
      return status === 200 && String(reason).startsWith(problem) && one.logText().includes(`"reason":"${problem}`);
    };
    const allTell = async () => (await Promise.all(this.processes.map(tells))).every(Boolean);
    return until(allTell, { timeoutMs: sharedWithinMs, what: problem });
  }

  /** One request to each surface but the gateway. */
  ask(): Promise<HttpAnswer[]> {
    const check = { subject_ref: 'subj_unknown', venue_id: 'hall' };
    return Promise.all([
      askGate(this.gate, ['POST', '/v1/gate/check'], { body: check }),
      this.peer.ask('GET', '/api/assets/unknown'),
      ...this.risk.processes.map((one) => askRisk(one, this.#riskKey, ['GET', '/api/v1/risks'])),
    ]);
  }

  /** The log is JSON throughout: a client library that prints errors would hide them from whoever searches it. */
  strayLines(): string[] {
    const lines = this.processes.flatMap((one) => one.logText().split('\n'));
    return lines.filter((line) => line !== '' && !line.startsWith('{'));
  }

  async stop(): Promise<void> {
    for (const setup of [this.gateway, this.gate, this.peer, this.risk]) await setup.stop();
    for (const database of this.#databases) await database.stop();
  }
}

/** A network whose limits are on the primary that will be killed. */
async function networkAt(site: RedisSite, { newNetwork }: Installation): Promise<string> {
  for (;;) {
    const networkId = await newNetwork();
    if (await site.willFailOver(`ingest:{network:${networkId}}`)) return networkId;
  }
}

/** Asks until `stop`, which returns all answers. */
function keepAsking(surfaces: Surfaces): () => Promise<HttpAnswer[]> {
  const answers: HttpAnswer[] = [];
  let isStopped = false;
  let failure: unknown;
  const asking = (async () => {
    while (!isStopped) {
      answers.push(...(await surfaces.ask()));
      await delay(betweenAsksMs);
    }
  })().catch((error: unknown) => (failure = error));
  return async () => {
    isStopped = true;
    await asking;
    if (failure !== undefined) throw new Error('A request had no answer.', { cause: failure });
    return answers;
  };
}

/** Whatever else runs on the machine may keep the database from answering in time; Redis may not. */
const isOfDatabase = ({ status, text }: HttpAnswer): boolean =>
  !isFull && status === 503 && /key store|database cannot|LEDGER_UNAVAILABLE/.test(text);

const slowestMs = (attempts: readonly Attempt[]): number =>
  Math.max(...attempts.map(({ startedMs, endedMs }) => endedMs - startedMs));

const forms: readonly (readonly [RedisForm, string])[] = [
  ['single', 'one server that is killed and starts empty'],
  ['sentinel', 'sentinels, of which one is killed with the primary'],
  ['cluster', 'a cluster that promotes the replica of a killed primary'],
];

for (const [form, what] of forms)
  describeWithRedis(`Redis with TLS and the rights of the page: ${what}`, () => {
    let site: RedisSite;
    let surfaces: Surfaces;
    beforeAll(async () => {
      site = await redisSite(form, redisRules(form));
      surfaces = await Surfaces.on(site);
    }, setupTimeoutMs);
    afterAll(async () => {
      await surfaces.stop();
      await site.stop();
    }, setupTimeoutMs);

    const admits = async (processIndex: number, rawKey: string, networkId: string, count: number): Promise<number> => {
      const from = sender(surfaces.gateway.gateways[processIndex]!.public, networkId, rawKey);
      return (await from.post({ assets: Array.from({ length: count }, (_, n) => ({ n })) })).status;
    };

    it(
      'decides every request while it fails over, and shares the limits again',
      async () => {
        const { gateway } = surfaces;
        await surfaces.becomeShared();
        const networkId = await networkAt(site, gateway);
        const { rawKey } = await gateway.newKey(networkId);
        const targets = gateway.gateways.map((one) => sender(one.public, networkId, rawKey));
        const load = startLoad({ targets, senders: 8, nextOrder: batchOrders(3, form), replayPercent: 30 });
        await until(() => load.attempts.length > 200, { timeoutMs: 30_000, what: 'load' });
        const beganMs = performance.now();
        const stopAsking = keepAsking(surfaces);
        await site.failOver();
        await surfaces.becomeShared();
        await until(() => load.attempts.filter(({ endedMs }) => endedMs >= beganMs).length > 100, { what: 'load' });
        const others = await stopAsking();
        await load.finish();

        const met = load.attempts.filter(({ endedMs }) => endedMs >= beganMs);
        const failed = met.filter(({ answer }) => answer?.status !== 200 && !(answer && isOfDatabase(answer)));
        expect(failed.map(({ answer }) => answer?.text ?? 'cut')).toEqual([]);
        const before = load.attempts.filter(({ endedMs }) => endedMs < beganMs);
        // Six processes and as many servers share the machine: this only tells a wait from a hang. `redis-outages` judges
        // the time.
        expect(slowestMs(met)).toBeLessThan(Math.max(hangMs, 3 * slowestMs(before)));
        checkReplays(load.attempts);
        // Of a cluster, the others may have no bucket on the node that was killed.
        const affected = form === 'cluster' ? gateway.gateways : surfaces.processes;
        const hasNoticed = affected.map((one) => /"limits_local"|"state":"away"/.test(one.logText()));
        expect(hasNoticed).toEqual(hasNoticed.map(() => true));
        expect(others.length).toBeGreaterThan(8);
        const refused = others.filter(({ status }) => status !== 200 && status !== 404);
        expect(refused.filter((answer) => !isOfDatabase(answer)).map(({ text }) => text)).toEqual([]);
      },
      storyTimeoutMs,
    );

    it('counts what one process admits at the other', async () => {
      const networkId = await networkAt(site, surfaces.gateway);
      const { rawKey } = await surfaces.gateway.newKey(networkId, { limits: { ratePerSecond: 1, burst: 100 } });
      expect(await admits(0, rawKey, networkId, 60)).toBe(200);
      expect(await admits(1, rawKey, networkId, 60)).toBe(429);
      expect(await admits(1, rawKey, networkId, 30)).toBe(200);
      expect(await admits(0, rawKey, networkId, 60)).toBe(429);
    });

    it('was refused nothing that any surface tried, and no library wrote into a log', async () => {
      expect(await site.refusals()).toEqual([]);
      expect(surfaces.strayLines()).toEqual([]);
    });

    // The other forms: redis-rights.int.spec.ts of the rate limits, for every right.
    if (form === 'single')
      it('reports a right that is taken away, in readiness and log, and stays ready', async () => {
        const users = redisRules(form).servers.map((rule) => rule.split(' ')[0]!);
        await Promise.all(users.map((user) => site.setUser(`${user} -evalsha`)));
        await surfaces.allTell('the user of REDIS_URL may not run evalsha');
        await Promise.all(redisRules(form).servers.map((rule) => site.setUser(rule)));
        await surfaces.becomeShared();
      });
  });
