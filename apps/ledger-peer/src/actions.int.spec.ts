import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { answerAction } from './domain/answer-action.ts';
import type { WriteOutcome } from './domain/asset-ledger.ts';
import type { AssetResult } from './domain/asset-result.ts';
import { parseMappings } from './domain/parse-mappings.ts';
import type { TestPeer } from './testing/open-test-peer.ts';
import { peerSuite } from './testing/peer-suite.ts';
import type { Script } from './testing/scripted-ledger.ts';

const suite = peerSuite();
const contract = {
  channel: 'acme.main',
  chaincode: 'basic',
  transactions: { write: 'w', read: 'r' },
  arguments: { write: ['{id}'], read: ['{id}'] },
};
const act = { transaction: 'Act', arguments: ['{id}'] };
const mappings = parseMappings(
  JSON.stringify({
    mappings: [
      { ...contract, type: 'once', actions: { sell: act, share: act } },
      { ...contract, type: 'kept', write: 'upsert', actions: { count: act, share: act } },
      { ...contract, type: 'many*', actions: { spread: act } },
    ],
  }),
  { driver: 'fabric', defaultChannel: undefined },
);

type Asked = Partial<Parameters<ReturnType<typeof answerAction>>[0]> & { readonly key?: string };

const peerOf = (script: Script = {}) => suite.peerWith({ takesMany: false, ...script }, { mappings });

function run({ answer }: Pick<TestPeer, 'answer'>, { key, ...asked }: Asked) {
  const action = asked.action ?? 'sell';
  const id = asked.id ?? 'a';
  return answerAction({ answerSync: answer, mappings })({
    caller: { familyId: 'family', bucket: 'b', limit: 'calls' },
    prefersAsync: false,
    idempotencyKeys: key === undefined ? [] : [key],
    method: 'POST',
    path: `/api/assets/${id}/actions/${action}`,
    type: undefined,
    data: {},
    ...{ ...asked, id, action },
  });
}

const committed = (transactionId: string, json?: string): WriteOutcome => ({
  outcome: 'committed',
  transactions: [
    {
      ...{ transactionId, blockNumber: 7, assetIds: ['a'] },
      ...(json === undefined ? {} : { returned: { json, truncated: false } }),
    },
  ],
});

describe('an action', () => {
  it('returns its transaction with what the contract returned', async () => {
    const sent: unknown[] = [];
    const peer = peerOf({
      write: (_ids, assets) => {
        sent.push(...assets);
        return committed('t1', '{"n":9007199254740993}');
      },
    });
    const { status, body } = await run(peer, { data: { to: 'Ann' } });
    expect({ status, body }).toEqual({
      status: 200,
      body: '{"id":"a","action":"sell","transactionId":"t1","channel":"acme.main","chaincode":"basic","blockNumber":7,"result":{"n":9007199254740993}}',
    });
    expect(sent).toEqual([{ id: 'a', type: 'once', data: { to: 'Ann' }, action: 'sell', text: '{"to":"Ann"}' }]);
    const none = peerOf({ write: () => committed('t2') });
    expect(JSON.parse((await run(none, {})).body)).toMatchObject({ transactionId: 't2', result: null });
    expect(await suite.rows()).toEqual([]);
  });

  it.each<[string, Asked, object]>([
    ['that nobody has', { action: 'burn' }, { code: 'NOT_FOUND' }],
    ['that every object has', { action: 'toString' }, { code: 'NOT_FOUND' }],
    ['that the type does not have', { action: 'sell', type: 'kept', key: 'k' }, { code: 'NOT_FOUND' }],
    ['of an unmapped type', { type: 'nobodys' }, { code: 'UNKNOWN_CHAINCODE' }],
    ['of several types', { action: 'share' }, { code: 'INVALID_REQUEST', faults: [{ in: 'query', pointer: '/type' }] }],
    ['of a prefix', { action: 'spread' }, { code: 'INVALID_REQUEST', faults: [{ in: 'query', pointer: '/type' }] }],
    ['of a mapping without create-once, unkeyed', { action: 'count' }, { code: 'IDEMPOTENCY_KEY_REQUIRED' }],
  ])('%s is refused, and nothing is sent', async (_, asked, refusal) => {
    const peer = peerOf();
    await expect(run(peer, asked)).rejects.toMatchObject(refusal);
    expect(peer.ledger.writes).toEqual([]);
    expect(await suite.rows()).toEqual([]);
  });

  it('may be chosen by a type that a prefix maps', async () => {
    const peer = peerOf();
    expect(await run(peer, { action: 'spread', type: 'many.1' })).toMatchObject({ status: 200 });
    expect(await run(peer, { action: 'share', type: 'once' })).toMatchObject({ status: 200 });
  });

  it.each<[string, WriteOutcome, object]>([
    [
      'the contract refuses',
      { outcome: 'refused', code: 'CONTRACT_REFUSED', message: 'No.', contractMessage: 'No.' },
      { code: 'CONTRACT_REFUSED', status: 422, members: { contractMessage: 'No.' } },
    ],
    [
      'data lacks a member',
      { outcome: 'refused', code: 'INVALID_REQUEST', message: 'It needs x.' },
      { code: 'INVALID_REQUEST', faults: [{ in: 'body', pointer: '/data', detail: 'It needs x.' }] },
    ],
    [
      'the transaction is invalid',
      { outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message: 'Invalid.', retryable: true },
      { code: 'LEDGER_UNAVAILABLE', message: 'Invalid.' },
    ],
    ['the ledger is away', { outcome: 'unavailable' }, { code: 'LEDGER_UNAVAILABLE' }],
  ])('leaves its key free if %s: nothing was written', async (_, outcome, refusal) => {
    let isAway = true;
    const peer = peerOf({ write: () => (isAway ? outcome : committed('t1')) });
    await expect(run(peer, { key: 'k' })).rejects.toMatchObject(refusal);
    expect(await suite.rows()).toEqual([]);
    isAway = false;
    expect(await run(peer, { key: 'k' })).toMatchObject({ status: 200, replayed: false });
  });
});

describe('an action with an Idempotency-Key', () => {
  it('runs once, and its response is repeated by every process', async () => {
    const [one, other] = [peerOf({ write: () => committed('t1', '1') }), peerOf()];
    const asked = { action: 'count', key: 'k' };
    const first = await run(one, asked);
    expect(await run(other, asked)).toEqual({ ...first, replayed: true });
    expect(one.ledger.writes).toEqual([['a']]);
    expect(other.ledger.writes).toEqual([]);
  });

  it.each<[string, Asked]>([
    ['id', { id: 'b' }],
    ['action', { action: 'share' }],
    ['type', { action: 'share', type: 'once' }],
    ['data', { data: { n: 1 } }],
  ])('is another request with another %s', async (_, change) => {
    const peer = peerOf();
    const asked = { action: 'share', type: 'kept', key: 'k' };
    await run(peer, change.action === 'share' && change.type === undefined ? { ...asked, action: 'count' } : asked);
    await expect(run(peer, { ...asked, ...change })).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
    expect(peer.ledger.writes).toHaveLength(1);
  });

  it('of a process that died is taken over: what it sent is found, not sent again', async () => {
    const hanging = peerOf({ write: () => new Promise<never>(() => undefined) as never });
    void run(hanging, { action: 'count', key: 'k' });
    await until(async () => (await suite.rows()).length === 1);
    hanging.crash();
    await suite.database.sql.query({ text: `UPDATE peer.jobs SET lease_until = now() - interval '1 s'` });
    const transaction = { transactionId: 't1', channel: 'acme.main', chaincode: 'basic', blockNumber: 7 };
    const told: AssetResult = { state: 'succeeded', transaction, returned: { json: '"x"', truncated: false } };
    const next = peerOf({ recall: () => new Map([['a', told]]) });
    const { status, body } = await run(next, { action: 'count', key: 'k' });
    expect({ status, ...(JSON.parse(body) as object) }).toMatchObject({
      status: 200,
      transactionId: 't1',
      result: 'x',
    });
    expect(next.ledger.writes).toEqual([]);
  });

  it('is pending while its outcome is unknown, and its job tells', async () => {
    let isKnown = false;
    const peer = peerOf({
      write: () => ({ outcome: 'unknown', transactionId: 't1' }),
      settle: () => (isKnown ? committed('t1', '"x"') : { outcome: 'unknown', transactionId: 't1' }),
    });
    const first = await run(peer, { action: 'count', key: 'k' });
    expect(first.status).toBe(202);
    const { jobId, pending } = JSON.parse(first.body) as { jobId: string; pending: object[] };
    expect(pending).toEqual([{ id: 'a', index: 0, transactionId: 't1' }]);
    isKnown = true;
    await until(async () => (await peer.jobs.find(jobId, 'family'))?.status === 'done');
    expect(JSON.parse((await peer.jobs.find(jobId, 'family'))?.result ?? '')).toMatchObject({
      ...{ succeeded: ['a'], transactionIds: ['t1'], results: [{ id: 'a', result: 'x' }] },
    });
    expect(await run(peer, { action: 'count', key: 'k' })).toEqual({ ...first, replayed: true });
    expect(peer.ledger.writes).toEqual([['a']]);
  });

  it('runs afterwards with respond-async, and the job tells why it was refused', async () => {
    const peer = peerOf({
      write: () => ({ outcome: 'refused', code: 'CONTRACT_REFUSED', message: 'No.', contractMessage: 'No.' }),
    });
    const { status, body, jobId } = await run(peer, { key: 'k', prefersAsync: true });
    expect({ status, body }).toEqual({ status: 202, body: `{"jobId":"${jobId}","status":"queued"}` });
    await until(async () => (await peer.jobs.find(jobId, 'family'))?.status === 'done');
    expect(JSON.parse((await peer.jobs.find(jobId, 'family'))?.result ?? '')).toMatchObject({
      failed: [{ id: 'a', index: 0, code: 'CONTRACT_REFUSED', retryable: false, contractMessage: 'No.' }],
    });
  });
});
