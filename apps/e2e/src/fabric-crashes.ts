import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { judgeAssets } from './harness/asset-load.ts';
import { deliver, type AssetOrder } from './harness/asset-orders.ts';
import { gaugeOf, journalledBy, type FabricStage } from './harness/fabric-stage.ts';
import { boundMs } from './harness/scale.ts';

const storyTimeoutMs = 180_000;
/** After this time another process has taken over the work of a dead one: the journal first, the request last. */
const leaseMs = 4000;
const TYPES = ['asset', 'kept', 'other'];

/** Kills a process at each point of a write: the later, the fewer others know of it. */
export function crashStories(stageOf: () => FabricStage): void {
  const orderOf = (point: string): AssetOrder => ({
    idempotencyKey: `${stageOf().tag}-kill-${point}`,
    assets: TYPES.map((type) => ({ id: `${stageOf().tag}-kill-${point}-${type}`, type, data: { point } })),
    takesNo: false,
  });
  /** Sends an order to the process that will be killed; it must not be answered. */
  function send(order: AssetOrder): void {
    const { ask } = stageOf().setup;
    const body = { assets: order.assets, options: { continueOnError: true } };
    const headers = { 'Idempotency-Key': order.idempotencyKey };
    void ask('POST', '/api/assets', { body, headers }).catch(() => undefined);
  }
  /** Waits until its transactions are at the endorsers, which do not answer. */
  async function sendToEndorsers(order: AssetOrder): Promise<void> {
    send(order);
    await until(async () => (await gaugeOf(stageOf().setup.peer, 'ledger_gateway_calls')) >= TYPES.length, {
      timeoutMs: 10_000,
      what: 'the calls of each transaction',
    });
  }
  /** Waits until each of its transactions is in the journal. */
  async function sendToJournal(order: AssetOrder): Promise<void> {
    const { peer } = stageOf().setup;
    const before = await journalledBy(peer);
    send(order);
    await until(async () => (await journalledBy(peer)) >= before + TYPES.length, {
      timeoutMs: 10_000,
      what: 'the row of each transaction',
    });
  }
  /** Number of assets in the ledger whose ids have the prefixes of the orders. */
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
        expect(fates.map(({ outcome }) => outcome)).toEqual(TYPES.map(() => 'written'));
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
        expect(fates.map(({ outcome }) => outcome)).toEqual(TYPES.map(() => 'written'));
        expect(tookMs).toBeLessThan(boundMs(withinMs));
        process.stdout.write(`${who}: ${Math.round(tookMs)} ms\n`);
        await stage.settled();
        await judgeAssets(stage, order.assets[0]!.id.replace(/-[a-z]+$/, ''), fates);
      },
      storyTimeoutMs,
    );

    it(
      'before the journal, after it, after Submit, and after the block: each request has one effect and one answer',
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

        // Once through every hop: the gateway peers have reconnected to the orderer, so the next transactions wait
        // there.
        const again = orderOf('again');
        expect((await deliver(again, { setup: stage.setup })).map(({ outcome }) => outcome)).toEqual(
          TYPES.map(() => 'written'),
        );
        await orderer.freeze();
        await sendToJournal(inBlock!);
        // An answer over the same connection: everything sent before it has arrived.
        await stage.setup.ask('GET', `/api/assets/${stage.tag}-absent?type=asset`);
        process.kill(peer.pid, 'SIGSTOP');
        try {
          await orderer.thaw();
          // The stopped process has neither answered nor stored the block.
          await until(async () => (await idsIn(stage, 'at-in-block')) === TYPES.length, { timeoutMs: 10_000 });
        } finally {
          await peer.kill();
        }
        await peer.start();

        // Journalled transactions are written without a request; others are not.
        await until(async () => (await idsIn(stage, 'at-')) === 3 * TYPES.length, {
          timeoutMs: 30_000 + leaseMs,
          what: 'everything that was journalled to be in the ledger',
        });
        const fates = await Promise.all(
          [early!, journalled!, sent!, inBlock!].map((order) => deliver(order, { setup: stage.setup })),
        );
        expect(fates.flat().filter(({ outcome }) => outcome === 'not written')).toEqual([]);
        await stage.settled();
        await judgeAssets(stage, `${stage.tag}-kill-at-`, fates.flat());
      },
      storyTimeoutMs,
    );
  });
}
