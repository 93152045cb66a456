import { describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import type { HttpAnswer } from './harness/http-exchange.ts';
import type { FabricStage } from './harness/fabric-stage.ts';
import type { SyncSummary } from './harness/peer-setup.ts';

const storyTimeoutMs = 60_000;

/** A third-party contract, used through lines of a mapping file only. */
export function foreignStories(stageOf: () => FabricStage): void {
  const car = (name: string, data: object = {}) => ({
    id: `${stageOf().tag}-car-${name}`,
    type: 'vehicle',
    data: { color: 'blue', size: 5, owner: 'Tom', value: 7, ...data },
  });
  const push = (assets: readonly object[], options: object = {}): Promise<HttpAnswer> =>
    stageOf().setup.ask('POST', '/api/assets', { body: { assets, options } });

  describe('mapped to a third-party contract', () => {
    it(
      'write, read and query by its own transactions, each asset in one of its own',
      async () => {
        const { setup, network } = stageOf();
        const summary = (await push([car('b'), car('a', { color: 'red' })])).body as SyncSummary;
        expect(summary).toMatchObject({ succeeded: [car('b').id, car('a').id], failed: [], pending: [] });
        expect(summary.transactions.map(({ chaincode, assetIds }) => ({ chaincode, assetIds }))).toEqual([
          { chaincode: 'basic', assetIds: [car('b').id] },
          { chaincode: 'basic', assetIds: [car('a').id] },
        ]);
        const asKept = { ID: car('a').id, Color: 'red', Size: 5, Owner: 'Tom', AppraisedValue: 7 };
        expect((await setup.ask('GET', `/api/assets/${car('a').id}`)).body).toEqual(asKept);
        const call = { chaincode: 'basic', transaction: 'ReadAsset', args: [car('a').id] };
        expect(await network.reader.evaluate(network.mainChannel, call)).toEqual(asKept);
        expect(await idsByQuery(stageOf(), 1)).toEqual([car('a').id, car('b').id]);
      },
      storyTimeoutMs,
    );

    it(
      'distinguish its refusals: taken, absent, and an asset without a required member',
      async () => {
        const { setup } = stageOf();
        const taken = (await push([car('taken')])).body as SyncSummary;
        expect(taken.succeeded).toEqual([car('taken').id]);
        const lacking = { ...car('lacking'), data: { color: 'blue' } };
        const refused = (await push([car('taken'), lacking, car('beside')], { continueOnError: true })).body;
        expect(refused).toMatchObject({
          succeeded: [car('beside').id],
          failed: [
            { id: car('taken').id, index: 0, code: 'RECORD_CONFLICT', retryable: false },
            { id: lacking.id, index: 1, code: 'INVALID_REQUEST', retryable: false },
          ],
        });
        expectProblem(await setup.ask('GET', `/api/assets/${car('nobody').id}?type=vehicle`), 'NOT_FOUND');
      },
      storyTimeoutMs,
    );
  });
}

/** Our ids of its query, in the order of its pages; other clients may have written to the same contract before. */
async function idsByQuery({ setup, tag }: FabricStage, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined, pages = 0; pages < 10_000; pages += 1) {
    const body = { type: 'vehicle', limit, ...(cursor === undefined ? {} : { cursor }) };
    const answer = await setup.ask('POST', '/api/assets/query', { body });
    const page = answer.body as { assets: { ID: string }[]; count: number; nextCursor: string | null };
    expect(page.count).toBe(page.assets.length);
    ids.push(...page.assets.map(({ ID }) => ID));
    if (page.nextCursor === null) return ids.filter((id) => id.startsWith(`${tag}-car-`));
    cursor = page.nextCursor;
  }
  throw new Error('The query does not end.');
}
