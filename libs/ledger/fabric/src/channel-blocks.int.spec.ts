import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { FurtherPeer } from '@sealgate/testing/fabric';
import type { BlockTransaction, ChannelBlock } from './block-content.ts';
import type { FabricClient } from './fabric-client.ts';
import { UnavailableError } from './fabric-errors.ts';
import { caught, write } from './testing/contract-calls.ts';
import { openTestFabric, type TestFabric } from './testing/open-test-fabric.ts';

const NEVER = new AbortController().signal;
const DEADLINE_EXCEEDED = 4;
const HASH: unknown = expect.stringMatching(/^[0-9a-f]{64}$/);

let test: TestFabric;
let second: FurtherPeer;
let client: FabricClient;
const problems: string[] = [];

const openClient = () => {
  const tls = { tlsCaFile: test.peer.tlsCaFile };
  const peers = [test.peer.url, second.url].map((endpoint) => ({ endpoint, ...tls }));
  return test.open({
    connection: test.connection({ peers }),
    observer: { problem: (what) => void problems.push(what) },
  });
};

beforeAll(async () => {
  test = await openTestFabric({ batchTimeoutMs: 5 });
  second = await test.peer.addPeer();
}, 60_000);
beforeEach(() => {
  problems.length = 0;
  client = openClient();
});
afterEach(async () => {
  await client.close();
  test.peer.faults.clear();
  test.peer.blockStreams.release();
  second.catchUp();
});
afterAll(() => test.close());

/** Reads on and on from a block until it is told to stop, as a consumer does. */
function reader(from: number) {
  const blocks = client.blocks('main');
  const leave = blocks.follow();
  const stop = new AbortController();
  const numbers: number[] = [];
  const transactions: BlockTransaction[] = [];
  const run = async () => {
    for (let next = from; !stop.signal.aborted;) {
      await blocks.reached(next, stop.signal);
      const read: readonly ChannelBlock[] = await blocks.read(next, stop.signal).catch(() => []);
      numbers.push(...read.map(({ number }) => number));
      transactions.push(...read.flatMap((block) => block.transactions));
      next = (numbers.at(-1) ?? next - 1) + 1;
    }
  };
  const running = run();
  return {
    numbers,
    transactions,
    async stop() {
      stop.abort();
      await running;
      leave();
    },
  };
}

const committed = () => test.peer.channel('main').transactions();
const range = (from: number, until: number) => Array.from({ length: until - from }, (_, n) => from + n);

describe('the blocks of a channel', () => {
  it('have what each transaction called, wrote and what became of it', async () => {
    const id = randomUUID();
    const { transactionId, blockNumber } = await client.submit(write(id));
    const [block] = await client.blocks('main').read(blockNumber, NEVER);
    const transaction = block?.transactions.find((one) => one.transactionId === transactionId);
    const hex = (text: string) => Buffer.from(text).toString('hex');
    expect(transaction).toMatchObject({
      code: 'VALID',
      chaincode: 'records',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      writes: [
        { chaincode: 'records', key: `i/${hex(id)}`, isDelete: false },
        { chaincode: 'records', key: `r/${hex('asset')}/${hex(id)}`, isDelete: false },
      ],
      event: undefined,
    });
    expect(transaction?.call[0]?.toString()).toBe('createMany');
  });

  it('have invalid transactions with their code', async () => {
    test.peer.faults.judge({ commit: 11 });
    const { transactionId } = await client.submit(write(randomUUID()));
    const all = reader(0);
    await until(() => all.transactions.some((one) => one.transactionId === transactionId));
    await all.stop();
    expect(all.transactions.filter(({ code }) => code === 'MVCC_READ_CONFLICT')).toHaveLength(1);
  });

  it('are read from the first one, and then followed, each once and in order', async () => {
    const all = reader(0);
    const written = await Promise.all(range(0, 20).map(() => client.submit(write(randomUUID()))));
    const last = Math.max(...written.map(({ blockNumber }) => blockNumber));
    await until(() => (all.numbers.at(-1) ?? 0) >= last);
    await all.stop();
    expect(all.numbers).toEqual(range(0, all.numbers.length));
    expect(all.transactions.map(({ transactionId }) => transactionId)).toEqual(
      committed().map(({ transactionId }) => transactionId),
    );
  });

  it('cost one stream, however many follow, and are not followed afterwards', async () => {
    const opened = test.peer.faults.inject('deliver', { delayMs: 0 });
    const leaves = range(0, 10).map(() => client.blocks('main').follow());
    const { blockNumber } = await client.submit(write(randomUUID()));
    await client.blocks('main').reached(blockNumber, NEVER);
    // The stream of filtered blocks for outcomes, and this one.
    await until(() => opened.struck() === 2);
    for (const leave of [...leaves, ...leaves]) leave();
    const later = await client.submit(write(randomUUID()));
    expect([opened.struck(), client.blocks('main').newest! < later.blockNumber]).toEqual([2, true]);
  });

  it('are all read, in order, while peers fail in turn', async () => {
    const start = (await client.blocks('main').askNewest()) + 1;
    const all = reader(start);
    const writers = new AbortController();
    const writing = range(0, 3).map(async () => {
      while (!writers.signal.aborted) await client.submit(write(randomUUID())).catch(() => undefined);
    });
    for (const peer of [test.peer, second]) {
      const goal = all.numbers.length + 10;
      await until(() => all.numbers.length >= goal, { timeoutMs: 20_000 });
      await peer.stop();
      const further = all.numbers.length + 10;
      await until(() => all.numbers.length >= further, { timeoutMs: 20_000 });
      await peer.start();
    }
    test.peer.blockStreams.cut();
    writers.abort();
    await Promise.all(writing);
    const height = test.peer.channel('main').height();
    await until(() => all.numbers.at(-1) === height - 1, { timeoutMs: 20_000 });
    await all.stop();
    expect(all.numbers).toEqual(range(start, height));
    expect(problems).toContain('stream_lost');
  }, 90_000);

  it('are read at another peer while the stream of the first one is silent', async () => {
    const start = (await client.blocks('main').askNewest()) + 1;
    const all = reader(start);
    await client.submit(write(randomUUID()));
    await until(() => all.numbers.length > 0);
    test.peer.blockStreams.hold();
    const { blockNumber } = await client.submit(write(randomUUID()));
    await until(() => all.numbers.at(-1) === blockNumber, { timeoutMs: 20_000 });
    await all.stop();
    expect(all.numbers).toEqual(range(start, blockNumber + 1));
  }, 40_000);

  it('begin with the first one that a peer has, which may have begun from a snapshot', async () => {
    for (let n = 0; n < 4; n += 1) await client.submit(write(randomUUID()));
    test.peer.beginAt(3);
    const { url, tlsCaFile } = test.peer;
    const alone = test.open({ connection: test.connection({ peers: [{ endpoint: url, tlsCaFile }] }) });
    const blocks = alone.blocks('main');
    expect(await blocks.askFirst()).toBe(3);
    expect((await blocks.read(3, NEVER))[0]?.number).toBe(3);
    expect(await caught(blocks.read(2, NEVER))).toBeInstanceOf(UnavailableError);
    // Another peer has them all.
    expect(await client.blocks('main').askFirst()).toBe(0);
    expect((await client.blocks('main').read(0, NEVER))[0]?.number).toBe(0);
    test.peer.beginAt(0);
  });

  it('can be read whole: who made each transaction, the configuration, and the hashes', async () => {
    const id = randomUUID();
    const { transactionId, blockNumber } = await client.submit(write(id));
    const read = await client.blocks('main').readWhole(0, 1, NEVER);
    expect(read.map(({ number }) => number)).toEqual([0, 1]);
    expect(read[1]).toMatchObject({ hash: HASH, previousHash: HASH, dataHash: HASH });
    expect(read[0]).toMatchObject({
      previousHash: '',
      entries: [{ kind: 'configuration', code: 'VALID', endorsers: [] }],
    });
    const [block] = await client.blocks('main').readWhole(blockNumber, blockNumber, NEVER);
    expect(block?.entries.find((one) => one.transactionId === transactionId)).toMatchObject({
      ...{ kind: 'contract', code: 'VALID', chaincode: 'records', function: 'createMany', endorsers: ['Org1MSP'] },
      creator: { mspId: 'Org1MSP', subject: 'O=Org1MSP, OU=client, CN=client' },
      at: expect.stringMatching(/^\d{4}-/),
    });
    expect(JSON.stringify(block)).not.toContain('"n":1');
  });

  it('are none beyond the newest one', async () => {
    const newest = await client.blocks('main').askNewest();
    expect(await client.blocks('main').read(newest + 1, NEVER)).toEqual([]);
  });

  it('are unavailable, and never fewer, while no peer sends them', async () => {
    test.peer.faults.inject('deliver', { status: { code: DEADLINE_EXCEEDED, message: 'not now' } });
    expect(await caught(client.blocks('main').read(0, NEVER))).toBeInstanceOf(UnavailableError);
    await Promise.all([test.peer.stop(), second.stop()]);
    expect(await caught(client.blocks('main').askNewest())).toBeInstanceOf(UnavailableError);
    await Promise.all([test.peer.start(), second.start()]);
  }, 30_000);
});
