import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { judgeAssets } from './harness/asset-judge.ts';
import { deliver, type AssetOrder } from './harness/asset-orders.ts';
import { gaugeOf, journalledBy, type FabricStage } from './harness/fabric-stage.ts';

const storyTimeoutMs = 180_000;
/** After it what a process that is gone had in hand is taken over by another: the journal sooner, the request last. */
const leaseMs = 4000;
const TYPES = ['asset', 'kept', 'other'];

/** A process that is killed, at each place where what it did is known to fewer and fewer others. */
export function crashStories(stageOf: () => FabricStage): void {
  const orderOf = (point: string): AssetOrder => ({
    idempotencyKey: `${stageOf().tag}-kill-${point}`,
    assets: TYPES.map((type) => ({ id: `${stageOf().tag}-kill-${point}-${type}`, type, data: { point } })),
    takesNo: false,
  });
  /** Sends an order to the process that is going to be killed, which is not to answer it. */
  function send(order: AssetOrder): void {
    const { ask } = stageOf().setup;
    const body = { assets: order.assets, options: { continueOnError: true } };
    const headers = { 'Idempotency-Key': order.idempotencyKey };
    void ask('POST', '/api/assets', { body, headers }).catch(() => undefined);
  }
  /** Until its transactions are with the endorsers, which do not answer. */
  async function sendToEndorsers(order: AssetOrder): Promise<void> {
    send(order);
    await until(async () => (await gaugeOf(stageOf().setup.peer, 'ledger_gateway_calls')) >= TYPES.length, {
      timeoutMs: 10_000,
      what: 'the calls of each transaction',
    });
  }
  /** Until each of its transactions is in the journal. */
  async function sendToJournal(order: AssetOrder): Promise<void> {
    const { peer } = stageOf().setup;
    const before = await journalledBy(peer);
    send(order);
    await until(async () => (await journalledBy(peer)) >= before + TYPES.length, {
      timeoutMs: 10_000,
      what: 'the row of each transaction',
    });
  }
  /** How many assets of the orders whose names begin so are in the ledger. */
  async function idsIn(stage: FabricStage, point: string): Promise<number> {
    const { network, main, other, tag } = stage;
    const lists = [main, other].map(({ fabricChannel, prefix }) =>
      network.reader.list(fabricChannel, `${prefix}${tag}-kill-${point}`),
    );
    return (await Promise.all(lists)).reduce((count, { size }) => count + size, 0);
  }

  describe('killed or stopped', () => {
    it(
      'in order while its transactions are held back: it ends in time, and they are settled all the same',
      async () => {
        const stage = stageOf();
        const { orderer } = stage.network;
        const { peer } = stage.setup;
        const order = orderOf('stopped');
        await orderer.freeze();
        await sendToJournal(order);
        expect(await peer.stop()).toBe(0);
        await orderer.thaw();
        await peer.start();
        const fates = await deliver(order, { setup: stage.setup });
        await stage.settled();
        await judgeAssets(stage, `${stage.tag}-kill-stopped`, fates);
        expect(fates.map(({ told }) => told)).toEqual(TYPES.map(() => 'written'));
      },
      storyTimeoutMs,
    );

    it.each([
      ['its next start', 6000],
      ['another replica', leaseMs + 10_000],
    ] as const)(
      'with a keyed write in flight: %s settles it, and answers its sender, within %d ms',
      async (who, withinMs) => {
        const stage = stageOf();
        const { orderer } = stage.network;
        const { peer, peers } = stage.setup;
        const order = orderOf(who.replaceAll(' ', '-'));
        await orderer.freeze();
        await sendToJournal(order);
        await peer.kill();
        await orderer.thaw();
        const isNext = who === 'its next start';
        const startedAt = performance.now();
        if (isNext) await peer.start();
        const fates = await deliver(order, { setup: stage.setup, peers: isNext ? [peer] : peers.slice(1) });
        const tookMs = performance.now() - startedAt;
        if (!isNext) await peer.start();
        expect(fates.map(({ told }) => told)).toEqual(TYPES.map(() => 'written'));
        expect(tookMs).toBeLessThan(withinMs);
        process.stdout.write(`${who}: ${Math.round(tookMs)} ms\n`);
        await stage.settled();
        await judgeAssets(stage, order.assets[0]!.id.replace(/-[a-z]+$/, ''), fates);
      },
      storyTimeoutMs,
    );

    it(
      'before its journal, after it, after Submit, and after the block: each request has one effect and one answer',
      async () => {
        const stage = stageOf();
        const { contract, orderer } = stage.network;
        const { peer } = stage.setup;
        const [early, journalled, sent, inBlock] = ['at-early', 'at-journalled', 'at-sent', 'at-in-block'].map(orderOf);

        await contract.freeze();
        await sendToEndorsers(early!);
        await peer.kill();
        await contract.thaw();
        await peer.start();
        expect(await idsIn(stage, 'at-')).toBe(0);

        await orderer.kill();
        await sendToJournal(journalled!);
        await peer.kill();
        await orderer.start();
        await peer.start();

        await orderer.freeze();
        await sendToJournal(sent!);
        await peer.kill();
        await orderer.thaw();
        await peer.start();

        // Through every hop once: the gateway peers have found the orderer again, and what is sent next waits there.
        const again = orderOf('again');
        expect((await deliver(again, { setup: stage.setup })).map(({ told }) => told)).toEqual(
          TYPES.map(() => 'written'),
        );
        await orderer.freeze();
        await sendToJournal(inBlock!);
        // An answer over the same connection: what was sent before it has arrived.
        await stage.setup.ask('GET', `/api/assets/${stage.tag}-absent?type=asset`);
        process.kill(peer.pid, 'SIGSTOP');
        try {
          await orderer.thaw();
          // The process stands still: it has told nobody, and written down nothing, of the block.
          await until(async () => (await idsIn(stage, 'at-in-block')) === TYPES.length, { timeoutMs: 10_000 });
        } finally {
          await peer.kill();
        }
        await peer.start();

        // What was journalled is written without anybody asking for it; what was not, is not.
        await until(async () => (await idsIn(stage, 'at-')) === 3 * TYPES.length, {
          timeoutMs: 30_000 + leaseMs,
          what: 'everything that was journalled to be in the ledger',
        });
        const fates = await Promise.all(
          [early!, journalled!, sent!, inBlock!].map((order) => deliver(order, { setup: stage.setup })),
        );
        expect(fates.flat().filter(({ told }) => told === 'not written')).toEqual([]);
        await stage.settled();
        await judgeAssets(stage, `${stage.tag}-kill-at-`, fates.flat());
      },
      storyTimeoutMs,
    );
  });
}
