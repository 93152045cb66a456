import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '@sealgate/json';
import type { WriteOutcome } from '../domain/asset-ledger.ts';
import { writeBatch } from '../domain/write-batch.ts';
import { asset, freshId } from '../testing/fabric-mapping.ts';
import { fabricSuite } from '../testing/fabric-suite.ts';

type Committed = Extract<WriteOutcome, { readonly outcome: 'committed' }>;

const suite = fabricSuite();
const { target } = suite;
const car = (id: string) => asset(id, 'vehicle', { color: 'blue', size: 5, owner: 'Tom', value: 1.5 });

describe('a third-party contract', () => {
  it('gets positional arguments, and one asset per transaction', async () => {
    const ids = [freshId(), freshId()];
    const { results } = await writeBatch({ ledger: suite.ledger }, target('vehicle'), ids.map(car));
    const transactions = ids.map((id) => results.get(id));
    expect(transactions).toMatchObject([{ state: 'succeeded' }, { state: 'succeeded' }]);
    expect(JSON.parse((await suite.ledger.read(target('vehicle'), ids[0]!))?.text ?? '')).toEqual({
      ID: ids[0],
      Color: 'blue',
      Size: 5,
      Owner: 'Tom',
      AppraisedValue: 1.5,
    });
  });

  it('reports a taken id and a missing asset with its own messages', async () => {
    const id = freshId();
    await suite.ledger.write(target('vehicle'), [car(id)]);
    expect(await suite.ledger.write(target('vehicle'), [car(id)])).toEqual({
      outcome: 'refused',
      code: 'RECORD_CONFLICT',
      message: `the asset ${id} already exists`,
      contractMessage: `the asset ${id} already exists`,
    });
    expect(await suite.ledger.read(target('vehicle'), 'nobody')).toBeUndefined();
  });

  it('returns what it returned, also to a later run of a job and to another process', async () => {
    const id = freshId();
    const to = (owner: string) => [asset(id, 'transfer', { owner })];
    await suite.ledger.write(target('vehicle'), [car(id)]);
    const first = await suite.ledger.write(target('transfer'), to('Ann'), `job_${id}`);
    expect(first).toMatchObject({
      outcome: 'committed',
      transactions: [{ assetIds: [id], returned: { json: '"Tom"' } }],
    });
    // The row of the journal is all that another process has.
    expect(await suite.ledger.write(target('transfer'), to('Ann'), `job_${id}`)).toMatchObject(first);
    const [recalled] = await suite.ledger.recall(`job_${id}`, [{ target: target('transfer'), assets: to('Ann') }]);
    expect(recalled?.get(id)).toMatchObject({ state: 'succeeded', returned: { json: '"Tom"', truncated: false } });
    const { results } = await writeBatch({ ledger: suite.ledger }, target('vehicle'), [car(freshId())]);
    expect([...results.values()]).toEqual([{ state: 'succeeded', transaction: expect.anything() }]);
  });

  it('passes its words on if it refuses to answer: that is neither "missing" nor an outage', async () => {
    const said = { contractMessage: 'the asset nobody does not exist' };
    await expect(suite.ledger.read(target('transfer'), 'nobody')).rejects.toMatchObject({
      name: 'ContractRefusal',
      ...said,
    });
    const asked = suite.ledger.query(target('transfer'), { type: 'nobody', limit: 1, after: undefined });
    await expect(asked).rejects.toMatchObject({ name: 'ContractRefusal', ...said });
  });

  it('is not sent an asset that lacks an argument', async () => {
    const wrong = asset(freshId(), 'vehicle', { color: 'blue' });
    expect(await suite.ledger.write(target('vehicle'), [wrong])).toMatchObject({
      outcome: 'refused',
      code: 'INVALID_REQUEST',
      id: wrong.id,
    });
  });

  it('is sorted and paged here if it returns everything', async () => {
    const ids = ['z～', 'z😀', 'z1'];
    for (const id of ids) await suite.ledger.write(target('vehicle'), [car(id)]);
    const seen: string[] = [];
    let after: JsonValue | undefined = 'z';
    do {
      const page = await suite.ledger.query(target('vehicle'), { type: 'vehicle', limit: 2, after });
      seen.push(...page.assets.map((one) => (one as { ID: string }).ID));
      after = page.next;
    } while (after !== undefined);
    expect(seen).toEqual(['z1', 'z～', 'z😀']);
  });

  it('gets defaults for missing members, and filters of a query', async () => {
    const ids = [freshId(), freshId()];
    for (const id of ids) await suite.ledger.write(target('ranged'), [asset(id, 'ranged', { owner: 'A"nn' })]);
    expect(JSON.parse((await suite.ledger.read(target('ranged'), ids[0]!))?.text ?? '')).toEqual({
      ...{ ID: ids[0], Color: 'red', Size: 0, Owner: 'A"nn', AppraisedValue: 0 },
    });
    const query = { type: 'ranged', limit: 1, after: undefined, filter: { owner: 'A"nn' } };
    const first = await suite.ledger.query(target('ranged'), query);
    expect(first).toMatchObject({ assets: [{ ID: ids[0] }], next: ids[0] });
    const second = await suite.ledger.query(target('ranged'), { ...query, after: first.next });
    expect(second).toMatchObject({ assets: [{ ID: ids[1] }], next: undefined });
    const none = await suite.ledger.query(target('ranged'), { ...query, filter: { owner: 'nobody' } });
    expect(none).toEqual({ assets: [], next: undefined });
  });

  it('lists the changes of an asset, a removal too, and none of an id that it never had', async () => {
    const id = freshId();
    const ranged = target('ranged');
    const transactionIdOf = (outcome: WriteOutcome) => (outcome as Committed).transactions[0]?.transactionId;
    const made = await suite.ledger.write(ranged, [asset(id, 'ranged', { owner: 'Tom' })]);
    const removed = await suite.ledger.write(ranged, [{ ...asset(id, 'ranged'), action: 'remove' }]);
    const record = { ID: id, Color: 'red', Size: 0, Owner: 'Tom', AppraisedValue: 0 };
    expect(JSON.parse((await suite.ledger.history?.(ranged, id)) ?? '')).toEqual([
      { txId: transactionIdOf(removed), isDelete: true, record: null },
      { txId: transactionIdOf(made), isDelete: false, record },
    ]);
    expect(await suite.ledger.history?.(ranged, 'nobody')).toBe('[]');
  });

  it('runs actions, two of them on one id in one job as two transactions', async () => {
    const id = freshId();
    const ranged = target('ranged');
    const act = (action: string, data: JsonValue = {}) => [{ ...asset(id, 'ranged', data), action }];
    await suite.ledger.write(ranged, [asset(id, 'ranged', { owner: 'Tom' })]);
    const moved = await suite.ledger.write(ranged, act('transfer', { owner: 'Eve' }), `job_${id}`);
    expect(moved).toMatchObject({ outcome: 'committed', transactions: [{ returned: { json: '"Tom"' } }] });
    const counted = await suite.ledger.write(ranged, act('count'), `job_${id}`);
    expect(counted).toMatchObject({ outcome: 'committed', transactions: [{ assetIds: [id], returned: undefined }] });
    // Both are found again by the same job, and not run again.
    expect(await suite.ledger.write(ranged, act('count'), `job_${id}`)).toMatchObject({ outcome: 'committed' });
    const recalled = await suite.ledger.recall(`job_${id}`, [
      { target: ranged, assets: act('transfer') },
      { target: ranged, assets: act('count') },
    ]);
    expect(recalled.map((results) => results.get(id))).toEqual(
      [moved, counted].map((outcome) => {
        const { transactionId } = (outcome as Committed).transactions[0]!;
        return expect.objectContaining({ transaction: expect.objectContaining({ transactionId }) });
      }),
    );
    expect(JSON.parse((await suite.ledger.read(ranged, id))?.text ?? '')).toMatchObject({
      ...{ Owner: '', AppraisedValue: 1 },
    });
  });

  it('refuses an action in its own words', async () => {
    const refused = await suite.ledger.write(target('ranged'), [
      { ...asset('nobody', 'ranged', { owner: 'Eve' }), action: 'transfer' },
    ]);
    expect(refused).toMatchObject({
      outcome: 'refused',
      code: 'CONTRACT_REFUSED',
      contractMessage: 'the asset nobody does not exist',
    });
  });

  it('recognises what an earlier run of a job has sent', async () => {
    const id = freshId();
    const first = await suite.ledger.write(target('vehicle'), [car(id)], 'job_1');
    expect(first).toMatchObject({ outcome: 'committed' });
    const part = { target: target('vehicle'), assets: [car(id), car(freshId())] };
    const [results] = await suite.ledger.recall('job_1', [part]);
    expect([...results!]).toEqual([[id, expect.objectContaining({ state: 'succeeded' })]]);
    expect(await suite.ledger.recall('job_2', [part])).toEqual([new Map()]);
    expect(await suite.ledger.write(target('vehicle'), [car(id)], 'job_2')).toMatchObject({ code: 'RECORD_CONFLICT' });
  });
});
