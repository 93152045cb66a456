import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { judgeAssets } from './harness/asset-judge.ts';
import { deliver, type AssetOrder } from './harness/asset-orders.ts';
import { gaugeOf, type FabricStage } from './harness/fabric-stage.ts';

const storyTimeoutMs = 180_000;
/** After it the journal of a process that is gone is taken over by another. */
const leaseMs = 15_000;
const TYPES = ['asset', 'kept', 'other'];

/** A process that is killed, at each place where what it did is known to fewer and fewer others. */
export function crashStories(stageOf: () => FabricStage): void {
  const orderOf = (point: string): AssetOrder => ({
    idempotencyKey: `${stageOf().tag}-kill-${point}`,
    assets: TYPES.map((type) => ({ id: `${stageOf().tag}-kill-${point}-${type}`, type, data: { point } })),
    takesNo: false,
  });
  /** Sends an order to the process that is going to be killed, and waits until it has got so far. */
  async function sendUntil(order: AssetOrder, metric: string): Promise<void> {
    const { peer, ask } = stageOf().setup;
    const body = { assets: order.assets, options: { continueOnError: true } };
    const headers = { 'Idempotency-Key': order.idempotencyKey };
    void ask('POST', '/api/assets', { body, headers }).catch(() => undefined);
    await until(async () => (await gaugeOf(peer, metric)) >= TYPES.length, {
      timeoutMs: 10_000,
      what: `${metric} of each transaction`,
    });
  }
  /** How many assets of an order, or of all, are in the ledger. */
  async function idsIn(stage: FabricStage, point = ''): Promise<number> {
    const { network, main, other, tag } = stage;
    const lists = [main, other].map(({ fabricChannel, prefix }) =>
      network.reader.list(fabricChannel, `${prefix}${tag}-kill-${point}`),
    );
    return (await Promise.all(lists)).reduce((count, { size }) => count + size, 0);
  }

  describe('killed', () => {
    it(
      'before its journal, after it, after Submit, and after the block: each request has one effect and one answer',
      async () => {
        const stage = stageOf();
        const { contract, orderer } = stage.network;
        const { peer } = stage.setup;
        const [early, journalled, sent, inBlock] = ['early', 'journalled', 'sent', 'in-block'].map(orderOf);

        await contract.freeze();
        await sendUntil(early!, 'ledger_gateway_calls');
        await peer.kill();
        await contract.thaw();
        await peer.start();
        expect(await idsIn(stage)).toBe(0);

        await orderer.kill();
        await sendUntil(journalled!, 'ledger_unsettled_transactions');
        await peer.kill();
        await orderer.start();
        await peer.start();

        await orderer.freeze();
        await sendUntil(sent!, 'ledger_unsettled_transactions');
        await peer.kill();
        await orderer.thaw();
        await peer.start();

        await orderer.freeze();
        await sendUntil(inBlock!, 'ledger_unsettled_transactions');
        process.kill(peer.pid, 'SIGSTOP');
        await orderer.thaw();
        // The process stands still: it has told nobody, and written down nothing, of the block.
        await until(async () => (await idsIn(stage, 'in-block')) === TYPES.length, { timeoutMs: 10_000 });
        await peer.kill();
        await peer.start();

        // What was journalled is written without anybody asking for it; what was not, is not.
        await until(async () => (await idsIn(stage)) === 3 * TYPES.length, {
          timeoutMs: 30_000 + leaseMs,
          what: 'everything that was journalled to be in the ledger',
        });
        const fates = await Promise.all(
          [early!, journalled!, sent!, inBlock!].map((order) => deliver(order, { setup: stage.setup })),
        );
        expect(fates.flat().filter(({ told }) => told === 'not written')).toEqual([]);
        await stage.settled();
        await judgeAssets(stage, `${stage.tag}-kill-`, fates.flat());
      },
      storyTimeoutMs,
    );
  });
}
