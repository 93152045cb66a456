import { expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import type { StandInPeer } from '@sealgate/testing/fabric';
import { VEHICLE } from './harness/fabric-stage.ts';
import type { PeerSetup } from './harness/peer-setup.ts';

/** Mappings of the third-party contract `basic`. */
export const THIRD_PARTY = [
  {
    ...VEHICLE,
    actions: { transfer: { transaction: 'TransferAsset', arguments: ['{id}', '{data.owner}'] } },
    history: { transaction: 'GetAssetHistory', arguments: ['{id}'] },
  },
  {
    type: 'counter',
    chaincode: 'basic',
    write: 'upsert',
    transactions: { write: 'CountAsset', read: 'ReadAsset', query: 'QueryAssets' },
    arguments: {
      write: ['{id}'],
      read: ['{id}'],
      query: ['{"owner":"{filter.owner|\\"\\"}"}', '{limit}', '{bookmark}'],
    },
    filters: ['owner'],
    idMember: 'ID',
    actions: { count: { transaction: 'CountAsset', arguments: ['{id}'] } },
  },
  {
    type: 'pin',
    chaincode: 'basic',
    transactions: { write: 'SetPin', read: 'GetPin' },
    arguments: { write: ['{id}', 'pins'], read: ['{collection}', '{id}'] },
    transient: ['pin'],
    collections: { read: 'pins' },
    idMember: 'ID',
  },
  {
    type: 'odd',
    chaincode: 'basic',
    transactions: { write: 'CountAsset', read: 'ReadAsset', query: 'ReadAsset' },
    arguments: { write: ['{id}'], read: ['{id}'], query: ['nobody'] },
  },
];

/** What a peer does with a contract that is not ours, beyond writing to it. */
export function contractStories(stage: () => { readonly network: StandInPeer; readonly setup: PeerSetup }): void {
  const push = (assets: readonly object[], headers: Record<string, string> = {}) =>
    stage().setup.ask('POST', '/api/assets', { body: { assets }, headers, timeoutMs: 40_000 });
  const asset = (id: string, data: object, type: string) => ({ id, type, data });
  const car = (id: string) => asset(id, { color: 'blue', size: 5, owner: 'Tom', value: 7 }, 'vehicle');

  it('runs actions, and passes on what the contract returns and says', async () => {
    const transfer = (id: string, data: object, headers: Record<string, string> = {}) =>
      stage().setup.ask('POST', `/api/assets/${id}/actions/transfer?type=vehicle`, { body: { data }, headers });
    await push([car('t1')]);
    const first = await transfer('t1', { owner: 'Ann' }, { 'Idempotency-Key': 'sold' });
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      id: 't1',
      action: 'transfer',
      transactionId: expect.stringMatching(/^[0-9a-f]{64}$/),
      channel: 'acme.main',
      chaincode: 'basic',
      blockNumber: expect.any(Number),
      result: 'Tom',
    });
    const again = await transfer('t1', { owner: 'Ann' }, { 'Idempotency-Key': 'sold' });
    expect(again.text).toBe(first.text);
    expect(again.headers['idempotent-replayed']).toBe('true');
    const said = { contractMessage: 'the asset nobody does not exist' };
    expectProblem(await transfer('nobody', { owner: 'Ann' }), 'CONTRACT_REFUSED', { members: said });
    expectProblem(await transfer('t1', {}), 'INVALID_REQUEST');
    expectProblem(await stage().setup.ask('POST', '/api/assets/t1/actions/burn?type=vehicle'), 'NOT_FOUND');
    expectProblem(await stage().setup.ask('POST', '/api/assets/t1/actions/count'), 'IDEMPOTENCY_KEY_REQUIRED');
    const odd = await stage().setup.ask('POST', '/api/assets/query', { body: { type: 'odd' } });
    expectProblem(odd, 'CONTRACT_REFUSED', { members: said });
    const query = { type: 'counter', limit: 1, filter: { owner: 'Ann' } };
    expect((await stage().setup.ask('POST', '/api/assets/query', { body: query })).body).toMatchObject({
      assets: [{ ID: 't1' }],
    });
    const unknown = { ...query, filter: { color: 'blue' } };
    expectProblem(await stage().setup.ask('POST', '/api/assets/query', { body: unknown }), 'INVALID_REQUEST');
  });

  it('lists the changes of an asset, and says where no history is mapped', async () => {
    const history = (id: string, type = '') => stage().setup.ask('GET', `/api/assets/${id}/history${type}`);
    await push([car('h1')]);
    const action = { body: { data: { owner: 'Ann' } }, headers: { 'Idempotency-Key': 'history' } };
    await stage().setup.ask('POST', '/api/assets/h1/actions/transfer?type=vehicle', action);
    for (const type of ['', '?type=vehicle']) {
      expect((await history('h1', type)).body).toMatchObject({
        id: 'h1',
        history: [{ record: { Owner: 'Ann' } }, { record: { Owner: 'Tom' } }],
      });
    }
    expect((await history('nobody')).body).toEqual({ id: 'nobody', history: [] });
    const detail = 'For this type no history is mapped.';
    expectProblem(await history('h1', '?type=pin'), 'UNKNOWN_CHAINCODE', { detail });
    expectProblem(await history('h1', '?proof=true'), 'UNKNOWN_PARAMETER');
  });

  it('tries a mapping file on the network for an operator', async () => {
    const tried = (mappings: readonly object[]) =>
      stage().setup.admin.ask('POST', '/mapping/check', { mapping: JSON.stringify({ mappings }) });
    const height = stage().network.channel('main').height();
    const report = (await tried(THIRD_PARTY)) as { ok: boolean; calls: { ok: boolean; transaction: string }[] };
    // Only the query of the type `odd` is not as its mapping says.
    const wrong = report.calls.filter(({ ok }) => !ok);
    expect({ ok: report.ok, wrong }).toMatchObject({ ok: false, wrong: [{ call: 'query', answer: 'refused' }] });
    expect(await tried(THIRD_PARTY.filter(({ type }) => type !== 'odd'))).toMatchObject({ ok: true, faults: [] });
    expect(await tried([])).toEqual({ ok: false, faults: ['mappings: must hold 1 to 1000 mappings'], calls: [] });
    expect(stage().network.channel('main').height()).toBe(height);
  });

  it('sends transient members to the contract, and says them nowhere else', async () => {
    const pin = 'p-7391-x';
    const withPin = (id: string, its = pin) => asset(id, { pin: its }, 'pin');
    const written = await push([withPin('s1')], { 'Idempotency-Key': 'sealed' });
    expect(written.body).toMatchObject({ succeeded: ['s1'], results: [{ id: 's1', result: 'kept' }] });
    expect((await stage().setup.ask('GET', '/api/assets/s1?type=pin')).body).toEqual({ ID: 's1', pin });
    const taken = await push([withPin('s1')]);
    expect(taken.body).toMatchObject({ failed: [{ code: 'RECORD_CONFLICT' }] });
    const refused = await push([withPin('s2', 'x-1')]);
    expect(refused.body).toMatchObject({ failed: [{ contractMessage: 'the pin "[private]" of s2 is too short' }] });
    const job = await push([withPin('s3')], { Prefer: 'respond-async' });
    await until(async () => (await stage().setup.ask('GET', '/api/assets/s3?type=pin')).status === 200, {
      timeoutMs: 20_000,
    });
    const blocks = Buffer.concat(stage().network.channel('main').blocks()).toString('latin1');
    for (const text of [written.text, taken.text, job.text, stage().setup.peer.logText(), blocks])
      expect(text).not.toContain(pin);
  });

  it('runs an action once though its process is killed before it answers, and the request is sent again', async () => {
    const count = () =>
      stage().setup.ask('POST', '/api/assets/n1/actions/count', {
        headers: { 'Idempotency-Key': 'n1' },
        timeoutMs: 40_000,
      });
    stage().network.orderer.hold();
    const before = stage().network.channel('main').pending();
    const lost = count().catch(() => undefined);
    await until(() => stage().network.channel('main').pending() > before, { timeoutMs: 10_000 });
    await stage().setup.peer.kill();
    await lost;
    stage().network.orderer.release();
    await stage().setup.peer.start();
    const counted = async () => (await stage().setup.ask('GET', '/api/assets/n1?type=counter')).body;
    // Done, or a job that tells when it is.
    await until(async () => [200, 202].includes((await count()).status), { timeoutMs: 30_000 });
    await until(async () => (await stage().setup.ask('GET', '/api/assets/n1?type=counter')).status === 200, {
      timeoutMs: 30_000,
    });
    expect(await counted()).toMatchObject({ AppraisedValue: 1 });
    expect((await count()).headers['idempotent-replayed']).toBe('true');
    expect(await counted()).toMatchObject({ AppraisedValue: 1 });
  }, 90_000);
}
