import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, until } from '@sealgate/testing';
import { ledgerSize } from './harness/admin-client.ts';
import type { Receipt, WriteAnswer } from './harness/answers.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { breakableServers, install, type Installation, type Servers } from './harness/installation.ts';
import { acceptedTexts, batchOrders, checkReplays, startLoad, type Load } from './harness/load.ts';
import { boundMs, scaled } from './harness/scale.ts';
import { sender } from './harness/sender.ts';
import { judgeLog } from './harness/verifier.ts';

const killsEach = scaled({ full: 20, quick: 4 });
const mostEvents = scaled({ full: 2_000, quick: 300 });
const storyTimeoutMs = 600_000;

describeWithRedis('Two gateways on one database, killed repeatedly under load', () => {
  let servers: Servers;
  let installation: Installation;
  beforeAll(async () => {
    servers = await breakableServers();
    installation = await install({ ...servers, gateways: 2 });
  }, setupTimeoutMs);
  afterAll(async () => {
    await installation.stop();
    await servers.stop();
  }, setupTimeoutMs);

  /** Kills one gateway at a random time, restarts it and waits until it accepts. Returns how long that took. */
  async function crash(number: number, load: Load): Promise<number> {
    const gateway = installation.gateways[number]!;
    await delay(100 + Math.random() * 700);
    await gateway.kill();
    const diedMs = performance.now();
    await gateway.start();
    const isAccepting = (): boolean =>
      load.attempts.some(
        ({ target, startedMs, answer }) => target === number && startedMs > diedMs && answer?.status === 200,
      );
    await until(isAccepting, { timeoutMs: 15_000, what: 'the first accept after a crash' });
    return performance.now() - diedMs;
  }

  /** Compares the events with the answers, also where a crash came between two channels. */
  async function expectEvents(texts: readonly string[]): Promise<void> {
    const answers = [...new Set(texts)].map((text) => JSON.parse(text) as WriteAnswer);
    const several = answers.filter(({ transactionIds }) => transactionIds.length > 1);
    for (const { eventId, records } of [...several, ...answers.slice(0, 50)].slice(0, mostEvents)) {
      const { status, records: places } = await installation.admin.ask('GET', `/events/${eventId}`);
      const place = ({ id, channel, transactionId }: Pick<Receipt, 'id' | 'channel' | 'transactionId'>): string =>
        `${id} ${channel} ${transactionId}`;
      expect({ eventId, status, places: (places as Receipt[]).map(place).toSorted() }).toEqual({
        eventId,
        status: 'committed',
        places: records.map(place).toSorted(),
      });
    }
  }

  it(
    'keep one log without a gap that contains every answer once',
    async () => {
      const channels = ['main', 'other'];
      const networkId = await installation.newNetwork({ channels });
      const { rawKey } = await installation.newKey(networkId);
      const targets = installation.gateways.map((gateway) => sender(gateway.public, networkId, rawKey));
      const load = startLoad({
        targets,
        senders: 16,
        nextOrder: batchOrders(10, 'crash', channels),
        replayPercent: 30,
      });
      const recoveries = await Promise.all(
        installation.gateways.map(async (_, number) => {
          const took: number[] = [];
          for (let kill = 0; kill < killsEach; kill += 1) took.push(await crash(number, load));
          return took;
        }),
      );
      await load.finish();
      expect(recoveries.flat()).toHaveLength(killsEach * 2);
      expect(Math.max(...recoveries.flat())).toBeLessThan(boundMs(10_000));
      checkReplays(load.attempts);
      const { admin, folder, verifierKey, checkpointFolders } = installation;
      const answers = acceptedTexts(load.attempts);
      const sizes: number[] = [];
      for (const channel of channels.map((name) => `${networkId}.${name}`)) {
        const size = await judgeLog({ admin, channel, folder, verifierKey, answers, savedFolders: checkpointFolders });
        expect(await ledgerSize(admin, channel)).toBe(size);
        expect(await admin.ask('POST', `/ledger/channels/${channel}/audit`)).toMatchObject({ ok: true, size });
        sizes.push(size);
      }
      await expectEvents(answers);
      // The story proves nothing if hardly anything was in flight.
      expect(load.attempts.filter(({ answer }) => answer === undefined).length).toBeGreaterThan(killsEach);
      expect(Math.min(...sizes)).toBeGreaterThan(killsEach * 25);
    },
    storyTimeoutMs,
  );
});
