import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import type { StandInPeer } from '@sealgate/testing/fabric';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { fabricPeer, type FabricPeer } from './harness/fabric-peer.ts';
import type { PeerSetup, SyncSummary } from './harness/peer-setup.ts';
import { contractStories, THIRD_PARTY } from './peer-contracts.ts';

const mapping = {
  mappings: [
    { type: 'asset', chaincode: 'records' },
    { type: 'kept.*', channel: 'acme.kept', chaincode: 'records', write: 'upsert' },
    ...THIRD_PARTY,
  ],
};

describe('The ledger peer on Fabric', () => {
  let stage: FabricPeer;
  let network: StandInPeer;
  let setup: PeerSetup;
  beforeAll(async () => {
    stage = await fabricPeer(mapping);
    ({ network, setup } = stage);
  }, setupTimeoutMs);
  afterAll(() => stage?.stop());

  const push = (assets: readonly object[], headers: Record<string, string> = {}, options: object = {}) =>
    setup.ask('POST', '/api/assets', { body: { assets, options }, headers, timeoutMs: 40_000 });
  const asset = (id: string, data: object = {}, type = 'asset') => ({ id, type, data });
  const car = (id: string) => asset(id, { color: 'blue', size: 5, owner: 'Tom', value: 7 }, 'vehicle');

  it('writes to the contract of each type, and returns transactions with their blocks', async () => {
    const { body } = await push([asset('a1', { x: 1 }), car('c1'), asset('a2')], { 'Idempotency-Key': 'first' });
    const summary = body as SyncSummary;
    expect(summary).toMatchObject({
      summary: { total: 3, succeeded: 3, failed: 0, pending: 0 },
      succeeded: ['a1', 'c1', 'a2'],
    });
    expect(summary.transactions).toEqual([
      expect.objectContaining({
        channel: 'acme.main',
        chaincode: 'records',
        blockNumber: expect.any(Number),
        assetIds: ['a1', 'a2'],
      }),
      expect.objectContaining({
        channel: 'acme.main',
        chaincode: 'basic',
        blockNumber: expect.any(Number),
        assetIds: ['c1'],
      }),
    ]);
    const again = (await push([asset('a1', { x: 1 }), asset('a2', { other: true })])).body as SyncSummary;
    expect(again).toMatchObject({ succeeded: ['a1'], failed: [{ id: 'a2', code: 'RECORD_CONFLICT' }] });
    expect(again.transactions[0]).toEqual({ ...summary.transactions[0], assetIds: ['a1'] });
    expect((await push([car('c1')])).body).toMatchObject({
      failed: [{ id: 'c1', code: 'RECORD_CONFLICT', message: 'the asset c1 already exists' }],
    });
  });

  it('reads what the contract returns, and distinguishes absent from unavailable', async () => {
    expect((await setup.ask('GET', '/api/assets/a1')).body).toMatchObject({
      id: 'a1',
      type: 'asset',
      data: { x: 1 },
      version: 1,
    });
    expect((await setup.ask('GET', '/api/assets/c1')).body).toEqual({
      ID: 'c1',
      Color: 'blue',
      Size: 5,
      Owner: 'Tom',
      AppraisedValue: 7,
    });
    expectProblem(await setup.ask('GET', '/api/assets/c1?type=asset'), 'NOT_FOUND');
    expectProblem(await setup.ask('GET', '/api/assets/nobody'), 'NOT_FOUND');
    const proved = await setup.ask('GET', '/api/assets/a1?proof=true');
    expect(proved.body).toMatchObject({ asset: { id: 'a1' }, receipt: { id: 'a1' }, proof: { kind: 'fabric' } });
    expectProblem(await setup.ask('GET', '/api/assets/c1?proof=true'), 'INVALID_REQUEST');
    expectProblem(await setup.ask('GET', '/ledger/acme.main/checkpoint'), 'NOT_FOUND');
    const query = await setup.ask('POST', '/api/assets/query', { body: { type: 'asset', limit: 1 } });
    expect(query.body).toMatchObject({ assets: [{ id: 'a1' }], count: 1, nextCursor: expect.any(String) });
  });

  it('keeps a new version of other content where the mapping allows it', async () => {
    for (const v of [1, 2])
      expect((await push([asset('k1', { v }, 'kept.x')])).body).toMatchObject({ succeeded: ['k1'] });
    expect((await setup.ask('GET', '/api/assets/k1')).body).toMatchObject({
      id: 'k1',
      type: 'kept.x',
      data: { v: 2 },
      version: 2,
    });
  });

  it('reports the expiry of its certificate, and whether the gateway peer answers', async () => {
    expect((await setup.ask('GET', '/health')).body).toMatchObject({
      status: 'healthy',
      credentials: { ok: true, certificateExpiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) },
    });
    const well = { ok: true, reason: null, detail: null };
    const contracts = [
      { types: ['asset'], channel: 'main', chaincode: 'records', ...well },
      { types: ['kept.*'], channel: 'shared', chaincode: 'records', ...well },
      // One for each transaction that reads.
      { types: ['vehicle', 'counter', 'odd'], channel: 'main', chaincode: 'basic', ...well },
      { types: ['pin'], channel: 'main', chaincode: 'basic', ...well },
    ];
    const ready = await setup.ask('GET', '/health/ready');
    expect(ready.body).toEqual({ status: 'healthy', contracts });
    const metrics = (await setup.peer.ops.send({ path: '/metrics' })).text;
    expect(metrics).toMatch(/ledger_validation_codes_total\{code="VALID",service="ledger-peer"\} [1-9]/);
    expect(metrics).toMatch(
      /ledger_phase_duration_seconds_count\{service="ledger-peer",phase="endorse",ok="true"\} [1-9]/,
    );
  });

  it('shows the blocks of its channels on the admin listener', async () => {
    const { transactions } = (await push([asset('b1')])).body as SyncSummary;
    const { transactionId, blockNumber } = transactions[0]!;
    const channels = await setup.admin.ask('GET', '/fabric/channels');
    expect(channels).toMatchObject({
      items: [{ channel: 'acme.kept' }, { channel: 'acme.main', fabricChannel: 'main' }],
    });
    const blocks = await setup.admin.ask('GET', `/fabric/channels/acme.main/blocks?below=${blockNumber! + 1}&limit=1`);
    expect(blocks).toMatchObject({ items: [{ number: blockNumber, transactions: 1, valid: 1 }] });
    expect(await setup.admin.ask('GET', `/fabric/channels/acme.main/blocks/${blockNumber}`)).toMatchObject({
      entries: [{ transactionId, code: 'VALID', creator: { mspId: 'Org1MSP' }, endorsers: ['Org1MSP'] }],
    });
    expect(await setup.admin.ask('GET', `/fabric/transactions/${transactionId}`)).toMatchObject({
      ...{ channel: 'acme.main', blockNumber, chaincode: 'records', function: 'createMany' },
    });
  });

  it('is 503 while no peer of the network answers: unhealthy, unavailable, never "not found"', async () => {
    await network.stop();
    try {
      expectProblem(await push([asset('away')]), 'LEDGER_UNAVAILABLE');
      expectProblem(await setup.ask('GET', '/api/assets/a1'), 'LEDGER_UNAVAILABLE');
      await until(async () => (await setup.ask('GET', '/health/ready')).status === 503, { timeoutMs: 5_000 });
      expect((await setup.ask('GET', '/health/ready')).body).toMatchObject({
        status: 'unhealthy',
        reason: expect.any(String),
      });
      expect((await setup.ask('GET', '/health/live')).text).toBe('{"status":"alive"}');
      expect((await setup.ask('GET', '/health')).status).toBe(200);
    } finally {
      await network.start();
    }
    await until(async () => (await push([asset('back')])).status === 200, { timeoutMs: 20_000 });
  }, 60_000);

  it('is pending while no block comes; the job reports the result once it does, though the process was killed meanwhile', async () => {
    network.orderer.hold();
    const answer = await push([asset('p1'), car('p2')], { 'Idempotency-Key': 'pending' }, { continueOnError: true });
    expect(answer.status).toBe(202);
    const { pending, failed, jobId } = answer.body as SyncSummary;
    expect(pending.map(({ id }) => id)).toEqual(['p1', 'p2']);
    expect(failed).toEqual([]);
    const promised = await push([car('p3')], { Prefer: 'respond-async' });
    await until(() => network.channel('main').pending() >= 3, { timeoutMs: 10_000 });
    await setup.peer.kill();
    network.orderer.release();
    await setup.peer.start();
    for (const location of [`/api/jobs/${jobId}`, String(promised.headers['location'])]) {
      let result: SyncSummary | undefined;
      await until(
        async () => {
          const { body } = await setup.ask('GET', location);
          result = (body as { result?: SyncSummary }).result;
          return result !== undefined;
        },
        { timeoutMs: 60_000, what: 'the result of a job' },
      );
      expect(result?.summary).toMatchObject({ failed: 0, pending: 0 });
    }
    for (const id of ['p1', 'p2', 'p3']) expect((await setup.ask('GET', `/api/assets/${id}`)).status).toBe(200);
    // Each is in one valid transaction: nothing was sent again under another id.
    const valid = network
      .channel('main')
      .transactions()
      .filter(({ code }) => code === 0);
    const done = (await setup.ask('GET', `/api/jobs/${jobId}`)).body as { result: SyncSummary };
    expect(done.result.transactionIds).toEqual(pending.map(({ transactionId }) => transactionId));
    for (const { transactionId } of pending)
      expect(valid.filter((one) => one.transactionId === transactionId)).toHaveLength(1);
    expect(
      (await push([asset('p1'), car('p2')], { 'Idempotency-Key': 'pending' }, { continueOnError: true })).text,
    ).toBe(answer.text);
  }, 120_000);

  contractStories(() => ({ network, setup }));
});
