import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { ledgerSize, type Members } from './harness/admin-client.ts';
import { expectCommonHeaders, expectWritten, limitsOf, type WriteAnswer } from './harness/answers.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import { sender, type Sender, type Sending } from './harness/sender.ts';

const uuid = (version: number): RegExp =>
  new RegExp(`^[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`);

describe('Records', () => {
  let setup: ContractSetup;
  let networkId: string;
  let from: Sender;
  beforeAll(async () => {
    setup = await sharedSetup();
  }, setupTimeoutMs);
  beforeEach(async () => {
    networkId = await setup.newNetwork({ channels: ['main', 'audit', 'beta'] });
    from = sender(setup.gateway.public, networkId, (await setup.newKey(networkId)).rawKey);
  });
  afterAll(() => setup.stop());

  const write = async (body: unknown, how?: Sending): Promise<WriteAnswer> => expectWritten(await from.post(body, how));
  const stored = (id: string, channel = 'main'): Promise<Members> =>
    setup.admin.ask('GET', `/ledger/channels/${networkId}.${channel}/records/${encodeURIComponent(id)}`);
  const refused = async (body: unknown, ...pointers: string[]): Promise<void> => {
    const errors = pointers.map((pointer) => ({ in: 'body' as const, pointer }));
    expectProblem(await from.post(body), 'INVALID_REQUEST', { errors });
  };

  it('are answered with the whole receipt', async () => {
    const answer = await from.post({ id: 'r1', type: 'invoice', owner: 'acme', data: { amount: 12 } });
    const { transactionIds, summary, records, strippedFields } = expectWritten(answer);
    expectCommonHeaders(answer);
    limitsOf(answer);
    const channel = `${networkId}.main`;
    expect(records).toEqual([
      expect.objectContaining({ id: 'r1', channel, index: 0, transactionId: transactionIds[0] }),
    ]);
    expect({ summary, strippedFields, distinct: transactionIds.length }).toEqual({
      summary: { total: 1, succeeded: 1, failed: 0 },
      strippedFields: 0,
      distinct: 1,
    });
    const { at, transactionId, ...rest } = await stored('r1');
    expect(rest).toEqual({
      id: 'r1',
      network: networkId,
      channel,
      type: 'invoice',
      owner: 'acme',
      data: { amount: 12 },
      extra: null,
      index: 0,
    });
    expect(transactionId).toBe(transactionIds[0]);
    expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('without data consist of their other members; with data the others are kept as extra', async () => {
    await write({ id: 'flat', type: 't', amount: 1, nested: { a: [1] } });
    expect(await stored('flat')).toMatchObject({ type: 't', data: { amount: 1, nested: { a: [1] } }, extra: null });
    await write({ id: 'both', data: { a: 1 }, note: 'x', more: [2] });
    expect(await stored('both')).toMatchObject({
      type: 'unknown',
      owner: null,
      data: { a: 1 },
      extra: { note: 'x', more: [2] },
    });
    const [empty] = (await write({})).records;
    expect(await stored(empty!.id)).toMatchObject({ data: {}, extra: null, type: 'unknown' });
  });

  it.each([['[1,{"a":2}]'], ['"text"'], ['12.5'], ['true'], ['null'], ['[]'], ['"\\u0000"']])(
    'of bare JSON are wrapped: %s',
    async (body) => {
      const [record] = (await write(body)).records;
      expect(await stored(record!.id)).toMatchObject({ type: 'unknown', data: { value: JSON.parse(body) } });
    },
  );

  it('of a batch are one transaction, bare JSON included', async () => {
    const { records, transactionIds, summary } = await write({
      assets: [{ id: 'a' }, 7, null, [1], { data: {}, x: 1 }],
    });
    expect(summary).toEqual({ total: 5, succeeded: 5, failed: 0 });
    expect(transactionIds).toHaveLength(1);
    expect(records.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    expect(await stored(records[1]!.id)).toMatchObject({ data: { value: 7 } });
    expect(await stored(records[4]!.id)).toMatchObject({ data: {}, extra: { x: 1 } });
  });

  it('of a batch are 1 to 100', async () => {
    const many = (count: number): object => ({ assets: Array.from({ length: count }, (_, n) => ({ n })) });
    expect((await write(many(100))).records).toHaveLength(100);
    expectProblem(await from.post(many(101)), 'BATCH_TOO_LARGE');
    await refused({ assets: [] }, '/assets');
    await refused({ assets: {} }, '/assets');
    await refused({ assets: null }, '/assets');
    await refused({ assets: [{}], type: 'ping' }, '/type');
    await refused({ assets: [{}], 'a/b~c': 1 }, '/a~1b~0c');
    await refused({ assets: [{ id: 'x' }, {}, { id: 'x' }, { id: 'x' }] }, '/assets/2/id', '/assets/3/id');
  });

  it.each([
    [{ id: 7 }, '/id'],
    [{ id: '' }, '/id'],
    [{ id: 'x'.repeat(257) }, '/id'],
    [{ id: null }, '/id'],
    [{ id: 'tab\there' }, '/id'],
    [{ id: 'delete\u007f' }, '/id'],
    [{ type: '' }, '/type'],
    [{ type: 'x'.repeat(129) }, '/type'],
    [{ type: ['a'] }, '/type'],
    [{ owner: {} }, '/owner'],
    [{ owner: '' }, '/owner'],
    [{ owner: null }, '/owner'],
    [{ data: [] }, '/data'],
    [{ data: null }, '/data'],
    [{ data: 'text' }, '/data'],
    [{ targetChannels: 'main' }, '/targetChannels'],
    [{ targetChannels: [] }, '/targetChannels'],
    [{ targetChannels: ['main', 'main'] }, '/targetChannels/1'],
    [{ targetChannels: [1] }, '/targetChannels/0'],
    [{ targetChannels: Array.from({ length: 9 }, (_, n) => `c${n}`) }, '/targetChannels'],
  ])('are refused with a pointer to the fault: %j', async (record, pointer) => {
    await refused(record, pointer);
    await refused({ assets: [{}, record] }, `/assets/1${pointer}`);
  });

  it('count characters as code points', async () => {
    await write({ id: '🦭'.repeat(256), type: '🦭'.repeat(128), owner: '🦭'.repeat(256) });
    await refused({ id: '🦭'.repeat(257), type: '🦭'.repeat(129) }, '/id', '/type');
  });

  it('lose sensitive members at any depth and in any case, before anything is stored', async () => {
    const secret = 'hunter2-4111111111111111';
    const body = `{"id":"s1","PassWord":"${secret}","data":{"ok":1,"ssn":"${secret}","list":[{"CVV":"${secret}","keep":2}],
      "credit_card":{"number":"${secret}","cvv":"1"},"\\u0063redit_card_number":"${secret}","passwords":"kept",
      "deep":{"social_security_number":"${secret}"}},"side":{"password":"${secret}","kept":true}}`;
    const answer = await write(body);
    expect(answer.strippedFields).toBe(7);
    const record = await stored('s1');
    expect(record).toMatchObject({
      data: { ok: 1, list: [{ keep: 2 }], passwords: 'kept', deep: {} },
      extra: { side: { kept: true } },
    });
    const { text: event } = await setup.admin.get(`/events/${answer.eventId}`);
    for (const text of [JSON.stringify(record), event, setup.gateway.logText()]) expect(text).not.toContain(secret);
    expect(JSON.parse(event)).toMatchObject({ strippedFields: 7 });
    expect((await write({ assets: [{ cvv: 1 }, { a: { cvv: 2 } }, [{ SSN: 3 }]] })).strippedFields).toBe(3);
  });

  it('sent again get the first receipt, compared after stripping; other content conflicts and nothing is written', async () => {
    const first = await write({ id: 'same', owner: 'o', data: { a: 1, password: 'x' } });
    const again = await write({ id: 'same', owner: 'o', data: { password: 'another', a: 1.0 } });
    expect(again.records).toEqual([{ ...first.records[0], existing: true }]);
    expect(again.transactionIds).toEqual(first.transactionIds);
    const others = [{ data: { a: 2 } }, { owner: 'p', data: { a: 1 } }, { owner: 'o', type: 't', data: { a: 1 } }];
    for (const other of [...others, { owner: 'o', data: { a: 1 }, extra: 1 }]) {
      expectProblem(await from.post({ id: 'same', ...other }), 'RECORD_CONFLICT');
    }
    expectProblem(await from.post({ assets: [{ id: 'unwritten' }, { id: 'same' }] }), 'RECORD_CONFLICT');
    expect((await setup.admin.get(`/ledger/channels/${networkId}.main/records/unwritten`)).status).toBe(404);
    const mixed = await write({ assets: [{ id: 'new' }, { id: 'same', owner: 'o', data: { a: 1 } }] });
    expect(mixed.records.map(({ id, existing }) => [id, existing])).toEqual([
      ['new', undefined],
      ['same', true],
    ]);
    expect(mixed.transactionIds).toHaveLength(2);
    expect(mixed.summary).toEqual({ total: 2, succeeded: 2, failed: 0 });
  });

  it('are written to their channels, one transaction for each, in name order', async () => {
    const { records, transactionIds, summary } = await write({
      assets: [
        { id: 'm', targetChannels: ['main', 'audit'] },
        { id: 'd' },
        { id: 'b', targetChannels: ['beta', 'main'] },
      ],
    });
    expect(records.map(({ id, channel }) => `${id} ${channel.slice(networkId.length + 1)}`)).toEqual([
      'm audit',
      'm main',
      'd main',
      'b beta',
      'b main',
    ]);
    expect(new Set(transactionIds).size).toBe(3);
    expect(transactionIds).toEqual([...new Set(records.map(({ transactionId }) => transactionId))]);
    expect(summary).toEqual({ total: 3, succeeded: 3, failed: 0 });
    expectProblem(await from.post({ targetChannels: ['main', 'nowhere'] }), 'UNKNOWN_CHANNEL');
    expect(await stored('m', 'audit')).toMatchObject({ id: 'm' });
    // Identity is (network, channel, id): in another channel the id is free.
    expect(
      (await write({ id: 'd', targetChannels: ['beta'], data: { other: 1 } })).records[0]!.existing,
    ).toBeUndefined();
  });

  it('have unguessable ids: derived from the key and position with an Idempotency-Key, time-ordered without', async () => {
    expect((await write({})).records[0]!.id).toMatch(uuid(7));
    const named = await write({ assets: [1, 2] }, { idempotencyKey: 'names-them' });
    for (const { id } of named.records) expect(id).toMatch(uuid(8));
    expect(new Set(named.records.map(({ id }) => id)).size).toBe(2);
  });

  it('of a key that stores whole objects are what was sent, whatever the members are', async () => {
    const members = { record: 'whole', defaultType: 'hook', allowedAssetTypes: ['hook'] };
    const whole = sender(setup.gateway.public, networkId, (await setup.newKey(networkId, members)).rawKey);
    const body = { id: 7, type: ['x'], data: 'text', targetChannels: 1, owner: null, cvv: '1' };
    const answer = expectWritten(await whole.post(body));
    const { cvv: _stripped, ...kept } = body;
    expect(await stored(answer.records[0]!.id)).toMatchObject({ type: 'hook', data: kept, extra: null, owner: null });
    expect(answer.strippedFields).toBe(1);
    expect((await whole.post({ type: 'ping' })).body).toMatchObject({ ping: true });
    expectProblem(await whole.post({ assets: [{ id: 7 }] }), 'INVALID_REQUEST');
    expectProblem(await whole.post([1]), 'ASSET_TYPE_NOT_ALLOWED');
  });

  it('are not written by a ping, which has an event and ignores an Idempotency-Key', async () => {
    const answer = await from.post({ type: 'ping', anything: 1 }, { idempotencyKey: ['twice', 'and bad'] });
    expectCommonHeaders(answer);
    const { eventId, ...rest } = answer.body as Members; // The answer to a ping is an object.
    expect(rest).toEqual({ ping: true, transactionIds: [], summary: { total: 0, succeeded: 0, failed: 0 } });
    await until(async () => (await setup.admin.get(`/events/${String(eventId)}`)).status === 200);
    expect(await setup.admin.ask('GET', `/events/${String(eventId)}`)).toMatchObject({
      kind: 'ping',
      networkId,
      records: [],
    });
    expect(await ledgerSize(setup.admin, `${networkId}.main`)).toBe(0);
    expect((await write({ type: 'Ping' })).records).toHaveLength(1);
    expect((await write({ assets: [{ type: 'ping' }] })).records).toHaveLength(1);
  });
});
