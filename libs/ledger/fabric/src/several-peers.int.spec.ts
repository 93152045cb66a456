import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { FurtherPeer } from '@sealgate/testing/fabric';
import type { FabricClient } from './fabric-client.ts';
import { UnavailableError } from './fabric-errors.ts';
import { caught, read, write } from './testing/contract-calls.ts';
import { openTestFabric, SCHEMA, type TestFabric } from './testing/open-test-fabric.ts';

const UNAVAILABLE = 14;

let test: TestFabric;
let second: FurtherPeer;
let client: FabricClient;
let problems: string[];

beforeAll(async () => {
  test = await openTestFabric();
  second = await test.peer.addPeer();
}, 60_000);
beforeEach(async () => {
  problems = [];
  const tls = { tlsCaFile: test.peer.tlsCaFile };
  const peers = [test.peer.url, second.url].map((endpoint) => ({ endpoint, ...tls }));
  client = test.open({
    connection: test.connection({ peers, channels: [{ name: 'main', holds: ['*'] }, { name: 'audit' }] }),
    observer: { problem: (what) => void problems.push(what) },
  });
  await client.submit(write(randomUUID()));
  await until(() => client.state().streams === 1);
});
afterEach(async () => {
  await client.close();
  test.peer.faults.clear();
  test.peer.blockStreams.release();
  second.catchUp();
});
afterAll(() => test.close());

function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof UnavailableError)) throw error;
}

const validIds = () =>
  test.peer
    .channel('main')
    .transactions()
    .filter(({ code }) => code === 0)
    .map(({ transactionId }) => transactionId);

describe('several peers', () => {
  it('uses the next one while the preferred one is down, and returns to it', async () => {
    await test.peer.stop();
    await client.submit(write(randomUUID()));
    expect(problems).toContain('peer_away');
    await test.peer.start();
    await second.stop();
    await until(() => client.submit(write(randomUUID())).then(() => true), { timeoutMs: 15_000 });
    await second.start();
  }, 40_000);

  it('misses no block while its stream moves between peers', async () => {
    const before = validIds().length;
    const written: string[] = [];
    let more = true;
    const writers = Array.from({ length: 4 }, async () => {
      while (more) {
        // A recovered peer may not be connected yet when the other one stops: then nothing is sent, and it is reported.
        const done = await client.submit(write(randomUUID())).catch(unlessUnavailable);
        if (done !== undefined) written.push(done.transactionId);
      }
    });
    for (const peer of [test.peer, second, test.peer]) {
      const goal = written.length + 20;
      await until(() => written.length >= goal, { timeoutMs: 20_000 });
      await peer.stop();
      const further = written.length + 20;
      await until(() => written.length >= further, { timeoutMs: 20_000 });
      await peer.start();
    }
    more = false;
    await Promise.all(writers);
    // All answered transactions are valid, once; and all valid ones were answered.
    expect(new Set(validIds().slice(before))).toEqual(new Set(written));
    expect(validIds().slice(before)).toHaveLength(written.length);
  }, 90_000);

  it('switches from a peer that never answers, and probes it now and then', async () => {
    const hang = test.peer.faults.inject('endorse', { drop: 'before' }, { when: ({ peer }) => peer === test.peer.url });
    const submit = () => client.submit(write(randomUUID()));
    await submit();
    expect(hang.struck()).toBe(1);
    const writers = Array.from({ length: 10 }, async () => {
      for (let n = 0; n < 5; n += 1) await submit();
    });
    await Promise.all(writers);
    // Of fifty, only the few that probed it.
    expect(hang.struck()).toBeLessThanOrEqual(10);
    hang.remove();
    await until(async () => {
      await submit();
      return client.state().calls === 0;
    });
  }, 40_000);

  it('never takes "absent", a list or a refusal from a peer behind an acknowledged block, in any process', async () => {
    const away = { code: UNAVAILABLE, message: 'connection refused' };
    second.lag();
    const id = randomUUID();
    await client.submit(write(id));
    // Another process, which has seen no block of its own, and whose preferred peer lags.
    const tls = { tlsCaFile: test.peer.tlsCaFile };
    const peers = [second.url, test.peer.url].map((endpoint) => ({ endpoint, ...tls }));
    const logged: string[] = [];
    const observer = { problem: (what: string, detail: string) => void logged.push(`${what} ${detail}`) };
    const other = test.open({ connection: test.connection({ peers }), observer });
    const asIs = await other.evaluate(read(id));
    expect(asIs).toHaveLength(0);
    const current = { mayBeOutdated: () => true };
    expect(JSON.parse(String(await other.evaluate(read(id), current)))).toMatchObject({ id });
    expect(await other.health([read('x')])).toMatchObject({ ok: true });
    const fault = test.peer.faults.inject('evaluate', { status: away }, { when: ({ peer }) => peer === test.peer.url });
    for (const call of [read(id), read('nobody')]) {
      expect(await caught(other.evaluate(call, current))).toMatchObject({ reason: 'peers_behind' });
    }
    expect(await other.health([read('x')])).toMatchObject({
      ok: false,
      contracts: [{ ok: false, reason: 'peers_behind' }],
    });
    expect(logged.filter((text) => text.startsWith('peers_behind '))).toEqual([
      expect.stringContaining(`${second.url} main/records as default: The peer lacks a block`),
      expect.stringMatching(/^peers_behind main: /),
    ]);
    second.catchUp();
    expect(JSON.parse(String(await other.evaluate(read(id), current)))).toMatchObject({ id });
    expect(await other.evaluate(read('nobody'), current)).toHaveLength(0);
    expect(await other.health([read('x')])).toMatchObject({ ok: true });
    fault.remove();
  }, 40_000);

  it('believes no peer that something is absent while the acknowledged height cannot be read', async () => {
    await test.sql.transaction(
      async (locked) => {
        await locked.query({ text: `LOCK TABLE ${SCHEMA}.fabric_heights` });
        const asked = client.evaluate(read('nobody'), { mayBeOutdated: () => true });
        expect(await caught(asked)).toBeInstanceOf(UnavailableError);
      },
      { deadlineMs: 20_000 },
    );
    expect(await client.evaluate(read('nobody'), { mayBeOutdated: () => true })).toHaveLength(0);
  }, 40_000);

  it('uses a peer that answers, even if it has just refused another channel', async () => {
    const nobody = { code: 9, message: 'no peer combination can satisfy the endorsement policy' };
    test.peer.faults.inject('endorse', { status: nobody }, { when: ({ channel }) => channel === 'audit' });
    await test.peer.stop();
    for (let time = 0; time < 3; time += 1) {
      const onAudit = client.submit({ ...write(randomUUID()), channel: 'audit' });
      expect(await caught(onAudit)).toBeInstanceOf(UnavailableError);
      await client.submit(write(randomUUID()));
    }
    expect(problems.filter((what) => what === 'peer_away')).toHaveLength(1);
    expect(problems.filter((what) => what === 'endorsers_away')).toHaveLength(1);
    await test.peer.start();
  }, 40_000);

  it.each([
    'no orderers could successfully process transaction',
    // The same of a BFT network: fewer than its quorum can be reached.
    'insufficient number of orderers could successfully process transaction to satisfy quorum requirement',
  ])(
    'reports missing orderers once, and no peer for it: %s',
    async (message) => {
      const away = { code: UNAVAILABLE, message };
      const faults = test.peer.faults.inject('submit', { status: away });
      const submits = Array.from({ length: 5 }, () => client.submit(write(randomUUID())));
      await until(() => faults.struck() >= 6);
      faults.remove();
      await Promise.all(submits);
      expect(problems).toEqual(['orderers_away']);
    },
    20_000,
  );

  it('leaves a silent stream', async () => {
    test.peer.blockStreams.hold();
    await client.submit(write(randomUUID()), { answerWithinMs: 15_000 });
    await until(() => problems.includes('stream_lost'), { timeoutMs: 10_000 });
  }, 40_000);

  it('loses its stream while idle, and resumes where it was', async () => {
    test.peer.blockStreams.cut();
    await until(() => problems.includes('stream_lost'));
    await client.submit(write(randomUUID()));
    await until(() => client.state().streams === 1);
  }, 20_000);
});
