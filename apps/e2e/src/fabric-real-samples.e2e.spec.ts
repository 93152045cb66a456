import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openFaults } from '@sealgate/fabric-devnet';
import { expectProblem, until } from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { freshTag } from './harness/fabric-network.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import type { SyncSummary } from './harness/peer-setup.ts';
import { mappingsOfPage, missingSamples, runSamples, samplePeer, type SamplePeer } from './harness/sample-contracts.ts';

/** The folder of a network made by `fabric:up`; set by `npm run test:fabric`. */
const data = process.env['SEALGATE_FABRIC'];
/** A folder with programs built from Fabric's samples, as infra/operations/fabric-contracts.md describes. */
const programs = process.env['FABRIC_SAMPLES'];
const why =
  data === undefined
    ? 'need a network: `npm run test:fabric`'
    : programs === undefined
      ? 'need FABRIC_SAMPLES, a folder with the built contracts: see infra/operations/fabric-contracts.md'
      : missingSamples(programs).map((name) => `need ${name} in FABRIC_SAMPLES`)[0];
if (data !== undefined && why !== undefined)
  process.stderr.write(`SKIPPED: the contracts of Fabric's samples ${why}.\n`);

const tag = freshTag();
const STORY_MS = 120_000;

describe("The mappings of Fabric's samples in the operators' pages", () => {
  if (why !== undefined) {
    it.skip(why, () => undefined);
    return;
  }
  let north: SamplePeer;
  let south: SamplePeer;
  beforeAll(async () => {
    await runSamples(data!, programs!);
    [north, south] = await Promise.all([samplePeer(data!, 'north'), samplePeer(data!, 'south')]);
  }, 2 * setupTimeoutMs);
  afterAll(async () => {
    await north?.stop();
    await south?.stop();
  }, setupTimeoutMs);

  const ask = ({ setup }: SamplePeer, method: string, path: string, body?: object, key?: string) =>
    setup.ask(method, path, {
      ...(body === undefined ? {} : { body }),
      headers: { 'Idempotency-Key': key },
      timeoutMs: 40_000,
    });
  const push = (peer: SamplePeer, type: string, id: string, values: object, key?: string) =>
    ask(peer, 'POST', '/api/assets', { assets: [{ id, type, data: values }] }, key);
  const act = (peer: SamplePeer, type: string, id: string, action: string, values: object = {}) =>
    ask(
      peer,
      'POST',
      `/api/assets/${encodeURIComponent(id)}/actions/${action}?type=${type}`,
      { data: values },
      randomUUID(),
    );
  const read = (peer: SamplePeer, type: string, id: string) =>
    ask(peer, 'GET', `/api/assets/${encodeURIComponent(id)}?type=${type}`);
  const list = (peer: SamplePeer, type: string, more: object = {}) =>
    ask(peer, 'POST', '/api/assets/query', { type, ...more });
  const said = (message: string | RegExp) => ({
    members: { contractMessage: typeof message === 'string' ? message : expect.stringMatching(message) },
  });
  const written = (answer: HttpAnswer, id: string) =>
    expect(answer.body).toMatchObject({ succeeded: [id], failed: [], pending: [] });
  const done = (answer: HttpAnswer, result: unknown = null) =>
    expect(answer.body).toMatchObject({ transactionId: expect.stringMatching(/^[0-9a-f]{64}$/), result });
  const checked = async ({ setup }: SamplePeer, mapping: string) =>
    (await setup.admin.ask('POST', '/mapping/check', { mapping })) as {
      faults: string[];
      calls: { ok: boolean; answer: string; transaction: string }[];
    };
  const car = (owner = 'Tom') => ({ color: 'blue', size: 5, owner, value: 7 });

  it(
    'serve positional arguments, results and refusals of asset-transfer-basic',
    async () => {
      const [id, type] = [`${tag}-b`, 'basic'];
      written(await push(north, type, id, { color: 'blue', size: 5, owner: '007' }), id);
      const shown = { ID: id, Color: 'blue', Size: 5, Owner: '007', AppraisedValue: 0 };
      expect((await read(north, type, id)).body).toEqual(shown);
      expect((await push(north, type, id, car())).body).toMatchObject({
        failed: [{ code: 'RECORD_CONFLICT', contractMessage: `the asset ${id} already exists` }],
      });
      done(await act(north, type, id, 'transfer', { owner: 'Ann' }), '007');
      done(await act(south, type, id, 'update', { ...car('Eve'), size: 6 }));
      expect((await list(south, type, { limit: 1000 })).body).toMatchObject({
        assets: expect.arrayContaining([{ ID: id, Color: 'blue', Size: 6, Owner: 'Eve', AppraisedValue: 7 }]),
      });
      const wrong = await act(north, type, id, 'update', { ...car(), size: 'large' });
      expectProblem(wrong, 'CONTRACT_REFUSED', said(/cannot convert|Conversion error|parameter/i));
      expectProblem(await act(north, type, id, 'transfer', {}), 'INVALID_REQUEST');
      done(await act(north, type, id, 'delete'));
      expectProblem(await read(north, type, id), 'NOT_FOUND');
      expectProblem(await act(north, type, id, 'delete'), 'CONTRACT_REFUSED', said(`the asset ${id} does not exist`));
    },
    STORY_MS,
  );

  it(
    'page, filter and read the history of asset-transfer-ledger-queries',
    async () => {
      const type = 'queried';
      const ids = ['1', '2', '3'].map((n) => `${tag}-q${n}`);
      for (const id of ids) written(await push(north, type, id, car()), id);
      const filter = { from: ids[0], to: `${tag}-r` };
      const seen: string[] = [];
      let cursor: string | null | undefined;
      do {
        const more = cursor === undefined ? {} : { cursor };
        const { body } = await list(north, type, { filter, limit: 2, ...more });
        const page = body as { assets: { ID: string }[]; nextCursor: string | null };
        seen.push(...page.assets.map(({ ID }) => ID));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(seen).toEqual(ids);
      done(await act(north, type, ids[0]!, 'transfer', { owner: 'Ann' }));
      const { body } = await ask(north, 'GET', `/api/assets/${ids[0]}/history?type=${type}`);
      const owners = (body as { history: { record: { owner: string } }[] }).history.map(({ record }) => record.owner);
      expect(owners).toEqual(['Ann', 'Tom']);
      const rich = await list(north, 'queried.rich', { filter: { owner: 'Ann' } });
      expectProblem(rich, 'CONTRACT_REFUSED', said(/not supported for leveldb/));
      expectProblem(await list(north, 'queried.rich'), 'INVALID_REQUEST');
      done(await act(north, type, ids[1]!, 'transfer-color', { color: 'blue', owner: 'Max' }));
      expect((await read(south, type, ids[2]!)).body).toMatchObject({ owner: 'Max' });
    },
    STORY_MS,
  );

  it(
    'write to asset-transfer-events, which has no query',
    async () => {
      const [id, type] = [`${tag}-e`, 'announced'];
      written(await push(south, type, id, car()), id);
      done(await act(north, type, id, 'transfer', { owner: 'Ann' }), 'Tom');
      expect((await read(south, type, id)).body).toMatchObject({ ID: id, Owner: 'Ann' });
      expectProblem(await list(south, type), 'UNKNOWN_CHAINCODE');
    },
    STORY_MS,
  );

  it(
    'pay from account to account in token-erc-20, once for each key',
    async () => {
      const type = 'account';
      // Another run on this network may have done it; then it refuses.
      await act(north, type, 'bank', 'initialize', { name: 'Coin', symbol: 'C', decimals: '2' });
      const account = (await read(north, 'account.own', 'any')).body as string;
      done(await act(north, type, account, 'mint', { amount: 500 }));
      const before = (await read(north, type, account)).body as number;
      const payee = `${tag}-payee`;
      expectProblem(await read(south, type, payee), 'NOT_FOUND');
      const key = randomUUID();
      const first = await push(north, type, payee, { amount: 120 }, key);
      written(first, payee);
      expect((await push(north, type, payee, { amount: 120 }, key)).text).toBe(first.text);
      expect((await read(south, type, payee)).body).toBe(120);
      expect((await read(north, type, account)).body).toBe(before - 120);
      expect((await push(north, type, payee, { amount: 10 ** 9 }, randomUUID())).body).toMatchObject({
        failed: [{ code: 'INVALID_REQUEST', contractMessage: expect.stringContaining('insufficient funds') }],
      });
      const unkeyed = await ask(north, 'POST', `/api/assets/bank/actions/mint?type=${type}`, { data: { amount: 1 } });
      expectProblem(unkeyed, 'IDEMPOTENCY_KEY_REQUIRED');
      const foreign = await act(south, type, 'bank', 'mint', { amount: 1 });
      expectProblem(foreign, 'CONTRACT_REFUSED', said('client is not authorized to mint new tokens'));
      expect((await read(south, 'account.supply', 'any')).body).toBeGreaterThanOrEqual(before);
    },
    STORY_MS,
  );

  it(
    'keep and trade private data of asset-transfer-private-data',
    async () => {
      const [id, type] = [`${tag}-m`, 'marble'];
      const properties = { objectType: 'marble', assetID: id, color: 'blue', size: 5, appraisedValue: 7319 };
      written(await push(north, type, id, { asset_properties: properties }), id);
      expect((await read(south, type, id)).body).toMatchObject({ assetID: id, color: 'blue', size: 5 });
      expect((await read(north, 'marble.price', id)).body).toEqual({ assetID: id, appraisedValue: 7319 });
      // Its own collection has nothing of it.
      expectProblem(await read(south, 'marble.price', id), 'NOT_FOUND');
      const filter = { from: id, to: `${id}~` };
      expect((await list(south, type, { filter })).body).toMatchObject({ assets: [{ assetID: id }] });
      const again = await push(north, type, id, { asset_properties: properties });
      expect(again.body).toMatchObject({
        failed: [{ code: 'RECORD_CONFLICT', contractMessage: `this asset already exists: ${id}` }],
      });
      const none = await push(north, type, `${id}2`, {});
      expect(none.body).toMatchObject({ failed: [{ contractMessage: 'asset not found in the transient map input' }] });
      const sale = { asset_owner: { assetID: id, buyerMSP: 'SouthMSP' } };
      expectProblem(
        await act(north, type, id, 'transfer', sale),
        'CONTRACT_REFUSED',
        said(/must be called by the buyer first/),
      );
      // The contract compares hashes: the bytes are those that it has stored itself.
      done(await act(south, type, id, 'agree', { asset_value: `{"assetID":"${id}","appraisedValue":7319}` }));
      done(await act(north, type, id, 'transfer', sale));
      expectProblem(await read(north, 'marble.price', id), 'NOT_FOUND');
      expect((await read(south, 'marble.price', id)).body).toEqual({ assetID: id, appraisedValue: 7319 });
      done(await act(south, type, id, 'delete', { asset_delete: { assetID: id } }));
      expectProblem(await read(north, type, id), 'NOT_FOUND');
      for (const peer of [north, south]) expect(peer.setup.peer.logText()).not.toContain('7319');
    },
    STORY_MS,
  );

  it(
    'leave private data with its organisation after a fail-over to the peer of another one',
    async () => {
      const faults = await openFaults({ data: data!, env: process.env });
      const marble = (id: string) => ({
        asset_properties: { objectType: 'marble', assetID: id, color: 'blue', size: 5, appraisedValue: 8461 },
      });
      written(await push(north, 'marble', `${tag}-f`, marble(`${tag}-f`)), `${tag}-f`);
      await faults.stop('peer-north');
      try {
        // Its own peer is gone, and the other one has neither the data nor a right to it.
        expectProblem(await read(north, 'marble.price', `${tag}-f`), 'LEDGER_UNAVAILABLE');
        expectProblem(await push(north, 'marble', `${tag}-g`, marble(`${tag}-g`)), 'LEDGER_UNAVAILABLE');
        expect((await read(north, 'marble', `${tag}-f`)).body).toMatchObject({ color: 'blue' });
      } finally {
        await faults.mend();
      }
      await until(async () => (await read(north, 'marble.price', `${tag}-f`)).status === 200, { timeoutMs: 30_000 });
    },
    STORY_MS,
  );

  it(
    'sell a deed of asset-transfer-secured-agreement, endorsed by seller and buyer',
    async () => {
      const properties = JSON.stringify({ object_type: 'deed', color: 'blue', size: 35, salt: tag });
      const id = createHash('sha256').update(properties).digest('hex');
      const made = await push(north, 'deed', id, { description: 'For sale', asset_properties: properties });
      expect((made.body as SyncSummary & { results: unknown }).results).toEqual([{ id, result: id }]);
      expect((await read(south, 'deed', id)).body).toMatchObject({ assetID: id, ownerOrg: 'NorthMSP' });
      expect((await read(north, 'deed.properties', id)).body).toMatchObject({ color: 'blue' });
      expectProblem(await read(south, 'deed.properties', id), 'NOT_FOUND');
      const price = { asset_price: { asset_id: id, price: 110, trade_id: tag } };
      done(await act(south, 'deed', id, 'verify', { asset_properties: properties }), true);
      const early = await act(north, 'deed', id, 'transfer', { ...price, buyer: 'SouthMSP' });
      expectProblem(early, 'CONTRACT_REFUSED', said(/does not exist/));
      done(await act(north, 'deed', id, 'sell', price));
      done(await act(south, 'deed', id, 'buy', { ...price, asset_properties: properties }));
      expect((await read(north, 'deed.ask', id)).body).toMatchObject({ price: 110 });
      expect((await list(south, 'deed.bid', { limit: 1000 })).body).toMatchObject({
        assets: expect.arrayContaining([{ asset_id: id, price: 110, trade_id: tag }]),
      });
      expectProblem(
        await act(south, 'deed', id, 'describe', { description: 'Mine' }),
        'CONTRACT_REFUSED',
        said(/cannot update/),
      );
      done(await act(north, 'deed', id, 'transfer', { ...price, buyer: 'SouthMSP' }));
      expect((await read(north, 'deed', id)).body).toMatchObject({ ownerOrg: 'SouthMSP' });
      done(await act(south, 'deed', id, 'describe', { description: 'Mine' }));
      expectProblem(await read(north, 'deed.ask', id), 'NOT_FOUND');
    },
    STORY_MS,
  );

  it(
    'pass on that asset-transfer-abac refuses a certificate without the attribute',
    async () => {
      const [id, type] = [`${tag}-g`, 'guarded'];
      expect((await push(north, type, id, { color: 'blue', size: 5, value: 7 })).body).toMatchObject({
        failed: [
          { code: 'INVALID_REQUEST', contractMessage: expect.stringContaining('does not have abac.creator role') },
        ],
      });
      expectProblem(await read(north, type, id), 'NOT_FOUND');
      expect((await list(north, type)).body).toMatchObject({ assets: [], count: 0 });
    },
    STORY_MS,
  );

  it(
    'are right in the words of `fabric check`, except for rich queries',
    async () => {
      for (const [peer, organization] of [
        [north, 'north'],
        [south, 'south'],
      ] as const) {
        const mapping = JSON.stringify({ mappings: mappingsOfPage(organization) });
        let report = await checked(peer, mapping);
        // Of a busy machine.
        const isIncomplete = () => report.calls.some(({ answer }) => answer === 'unavailable');
        for (let time = 1; time < 20 && isIncomplete(); time += 1) report = await checked(peer, mapping);
        const wrong = report.calls.filter(({ ok }) => !ok);
        expect({ faults: report.faults, wrong }).toEqual({
          faults: [],
          wrong: [
            expect.objectContaining({
              transaction: 'QueryAssetsWithPagination',
              answer: 'refused',
              detail: expect.stringContaining('not supported for leveldb'),
            }),
          ],
        });
        // Its probes have a second, which is not much on a busy machine.
        await until(
          async () => {
            const { contracts } = (await peer.setup.ask('GET', '/health/ready')).body as {
              contracts: { ok: boolean }[];
            };
            return contracts.every(({ ok }) => ok);
          },
          { timeoutMs: 60_000, what: 'every contract to be reached' },
        );
      }
    },
    STORY_MS,
  );
});
