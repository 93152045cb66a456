import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { until } from '@sealgate/testing';
import { writeBatch } from '../domain/write-batch.ts';
import { SCHEMA } from '../peer-migrations.ts';
import { asset, freshId } from '../testing/fabric-mapping.ts';
import { fabricSuite } from '../testing/fabric-suite.ts';
import { healthOf, probesOf } from './fabric-assets.ts';

const suite = fabricSuite();
const { target } = suite;
const car = (id: string) => asset(id, 'vehicle', { color: 'blue', size: 5, owner: 'Tom', value: 1.5 });

describe('our own contract', () => {
  it('writes many assets in one transaction, and returns the first receipt for the same content', async () => {
    const ids = [freshId(), freshId()];
    const assets = ids.map((id) => asset(id, 'ours.x', { is: id }));
    const first = await suite.ledger.write(target('ours.x'), assets);
    expect(first).toEqual({
      outcome: 'committed',
      transactions: [
        { transactionId: expect.stringMatching(/^[0-9a-f]{64}$/), blockNumber: expect.any(Number), assetIds: ids },
      ],
    });
    const { transactions } = first as Extract<typeof first, { outcome: 'committed' }>;
    // The answer does not wait for the journal, which has the block for the next one.
    await until(async () => (await suite.client.settle(transactions[0]!.transactionId))?.status === 'committed');
    expect(await suite.ledger.write(target('ours.x'), assets)).toEqual(first);
  });

  it('names the asset whose id is taken, and writes its neighbours', async () => {
    const [taken, free] = [freshId(), freshId()];
    await suite.ledger.write(target('ours.x'), [asset(taken, 'ours.x', { v: 1 })]);
    const assets = [asset(taken, 'ours.x', { v: 2 }), asset(free, 'ours.x')];
    expect(await suite.ledger.write(target('ours.x'), assets)).toMatchObject({
      outcome: 'refused',
      code: 'RECORD_CONFLICT',
      id: taken,
    });
    const { results } = await writeBatch({ ledger: suite.ledger }, target('ours.x'), assets);
    expect(results.get(taken)).toMatchObject({ state: 'failed', code: 'RECORD_CONFLICT' });
    expect(results.get(free)).toMatchObject({ state: 'succeeded' });
  });

  it('returns what the contract returns, and reports missing assets', async () => {
    const id = freshId();
    await suite.ledger.write(target('ours.x'), [asset(id, 'ours.x', { a: ['é', null] })]);
    const found = await suite.ledger.read(target('ours.x'), id);
    expect(found?.type).toBe('ours.x');
    expect(JSON.parse(found?.text ?? '')).toMatchObject({ id, type: 'ours.x', data: { a: ['é', null] }, version: 1 });
    expect(await suite.ledger.read(target('ours.x'), 'nobody')).toBeUndefined();
  });

  it('is queried in pages', async () => {
    const ids = ['q1', 'q2', 'q3'];
    await suite.ledger.write(
      target('ours.q'),
      ids.map((id) => asset(id, 'ours.q')),
    );
    const query = { type: 'ours.q', limit: 2, after: undefined };
    const first = await suite.ledger.query(target('ours.q'), query);
    expect(first).toMatchObject({ assets: [{ id: 'q1' }, { id: 'q2' }], next: 'q2' });
    const second = await suite.ledger.query(target('ours.q'), { ...query, after: first.next });
    expect(second).toMatchObject({ assets: [{ id: 'q3' }], next: undefined });
  });

  it('keeps versions with upsert, on a shared Fabric channel', async () => {
    const id = freshId();
    const kept = target('kept.x');
    for (const v of [1, 2])
      expect(await suite.ledger.write(kept, [asset(id, 'kept.x', { v })])).toMatchObject({ outcome: 'committed' });
    expect(JSON.parse((await suite.ledger.read(kept, id))?.text ?? '')).toMatchObject({
      id,
      type: 'kept.x',
      data: { v: 2 },
      version: 2,
    });
    expect(await suite.ledger.read(target('ours.x'), id)).toBeUndefined();
    expect(await suite.ledger.query(kept, { type: 'kept.x', limit: 10, after: undefined })).toMatchObject({
      assets: [{ id }],
    });
  });
});

describe('a mapping that names the organisations that endorse', () => {
  const endorsersOf = (outcome: object) => {
    const { transactions } = outcome as { transactions: { transactionId: string }[] };
    const all = suite.peer.channel('main').transactions();
    return all.find(({ transactionId }) => transactionId === transactions[0]?.transactionId)?.endorsers;
  };

  it('has writes endorsed by each of them, and others by whom the network chooses', async () => {
    const both = await suite.ledger.write(target('both.x'), [asset(freshId(), 'both.x')]);
    expect(endorsersOf(both)).toEqual(['Org2MSP', 'Org1MSP']);
    const ours = await suite.ledger.write(target('ours.x'), [asset(freshId(), 'ours.x')]);
    expect(endorsersOf(ours)).toEqual(['Org1MSP']);
  });

  it('has an action endorsed by the organisations that the action names, in place of its own', async () => {
    const id = freshId();
    const written = await suite.ledger.write(target('led'), [asset(id, 'led')]);
    expect(endorsersOf(written)).toEqual(['Org1MSP']);
    const counted = await suite.ledger.write(target('led'), [{ ...asset(id, 'led'), action: 'agree' }]);
    expect(endorsersOf(counted)).toEqual(['Org1MSP', 'Org2MSP']);
  });

  it('is at fault if they do not satisfy the endorsement policy, and trying again would not help', async () => {
    const failed = await suite.ledger.write(target('theirs.x'), [asset(freshId(), 'theirs.x')]);
    const { transactionId } = suite.peer.channel('main').transactions().at(-1)!;
    expect(failed).toEqual({
      outcome: 'failed',
      code: 'LEDGER_UNAVAILABLE',
      message: `Transaction ${transactionId} is in a block but invalid (ENDORSEMENT_POLICY_FAILURE): the endorsers that the mapping names do not satisfy an endorsement policy; nothing was written.`,
      retryable: false,
    });
  });

  it('writes nothing while one of them has no peer', async () => {
    const id = freshId();
    expect(await suite.ledger.write(target('third.x'), [asset(id, 'third.x')])).toEqual({ outcome: 'unavailable' });
    expect(await suite.ledger.read(target('third.x'), id)).toBeUndefined();
  });
});

describe('a contract that writes a version each time', () => {
  const kept = () => target('kept.x');
  const versionOf = async (id: string) =>
    (JSON.parse((await suite.ledger.read(kept(), id))?.text ?? '{}') as { version?: number }).version;

  it('is written once by two processes that both run a job', async () => {
    const id = freshId();
    const both = await Promise.all([1, 2].map(() => suite.ledger.write(kept(), [asset(id, 'kept.x')], `job_${id}`)));
    for (const outcome of both) expect(['committed', 'unknown', 'unsure']).toContain(outcome.outcome);
    expect(await versionOf(id)).toBe(1);
    const again = await suite.ledger.write(kept(), [asset(id, 'kept.x')], `job_${id}`);
    expect(again).toMatchObject({ outcome: 'committed' });
    expect(await versionOf(id)).toBe(1);
  });

  it('is told apart from another contract that takes the same id in the same job', async () => {
    const id = freshId();
    const job = `job_${id}`;
    expect(await suite.ledger.write(kept(), [asset(id, 'kept.x')], job)).toMatchObject({ outcome: 'committed' });
    expect(await suite.ledger.write(target('vehicle'), [car(id)], job)).toMatchObject({ outcome: 'committed' });
    expect((await suite.ledger.read(target('vehicle'), id))?.text).toContain(id);
  });

  it('finds what was sent in halves when it is asked for the whole, and for the whole when asked in halves', async () => {
    const [a, b, c] = [freshId(), freshId(), freshId()];
    const job = `job_${a}`;
    const assets = [a, b, c].map((id) => asset(id, 'kept.x'));
    await suite.ledger.write(kept(), assets.slice(0, 1), job);
    await suite.ledger.write(kept(), assets.slice(1), job);
    const parts = [assets, assets.slice(0, 2), assets.slice(2)].map((its) => ({ target: kept(), assets: its }));
    const recalled = await suite.ledger.recall(job, parts);
    expect(recalled.map((results) => new Set(results.keys()))).toEqual([
      new Set([a, b, c]),
      new Set([a, b]),
      new Set([c]),
    ]);
  });

  it('cannot be asked what was sent while the journal is locked: that is unknown, never "nothing"', async () => {
    const id = freshId();
    const job = `job_${id}`;
    await suite.ledger.write(kept(), [asset(id, 'kept.x')], job);
    const part = { target: kept(), assets: [asset(id, 'kept.x')] };
    await suite.database.sql.transaction(
      async (locked) => {
        await locked.query({ text: `LOCK TABLE ${SCHEMA}.fabric_transactions` });
        await expect(suite.ledger.recall(job, [part])).rejects.toBeInstanceOf(LedgerUnavailableError);
        expect(await suite.ledger.settle(kept(), part.assets, '00'.repeat(32))).toEqual({ outcome: 'unavailable' });
      },
      { deadlineMs: 20_000 },
    );
    expect((await suite.ledger.recall(job, [part]))[0]?.get(id)).toMatchObject({ state: 'succeeded' });
  }, 30_000);

  it('is written again for a transaction without a row only once that can never be sent', async () => {
    const id = freshId();
    const lost = 'ab'.repeat(32);
    for (let time = 0; time < 2; time += 1)
      expect(await suite.ledger.settle(kept(), [asset(id, 'kept.x')], lost)).toEqual({ outcome: 'again' });
    expect(await suite.client.settle(lost)).toMatchObject({ status: 'refused' });
  });
});

describe('a failing network', () => {
  it('gives unknown without a block, and settles with one', async () => {
    const id = freshId();
    suite.peer.orderer.hold();
    const outcome = await suite.ledger.write(target('ours.x'), [asset(id, 'ours.x')]);
    expect(outcome).toMatchObject({ outcome: 'unknown' });
    const { transactionId } = outcome as { transactionId: string };
    expect(await suite.ledger.settle(target('ours.x'), [asset(id, 'ours.x')], transactionId)).toEqual(outcome);
    suite.peer.orderer.release();
    await until(
      async () =>
        (await suite.ledger.settle(target('ours.x'), [asset(id, 'ours.x')], transactionId)).outcome === 'committed',
      { timeoutMs: 15_000 },
    );
    expect(await suite.ledger.settle(target('ours.x'), [asset(id, 'ours.x')], transactionId)).toMatchObject({
      transactions: [{ transactionId, assetIds: [id] }],
    });
  }, 30_000);

  it('is unavailable for writers and readers if no peer answers', async () => {
    await suite.peer.stop();
    try {
      expect(await suite.ledger.write(target('ours.x'), [asset(freshId(), 'ours.x')])).toEqual({
        outcome: 'unavailable',
      });
      await expect(suite.ledger.read(target('ours.x'), 'x')).rejects.toBeInstanceOf(LedgerUnavailableError);
      await expect(
        suite.ledger.query(target('ours.x'), { type: 'ours.x', limit: 1, after: undefined }),
      ).rejects.toBeInstanceOf(LedgerUnavailableError);
    } finally {
      await suite.peer.start();
    }
    await until(
      async () => (await suite.ledger.write(target('ours.x'), [asset(freshId(), 'ours.x')])).outcome === 'committed',
      { timeoutMs: 15_000 },
    );
  }, 40_000);

  it('fails writes to a missing chaincode, and never reports its assets as missing', async () => {
    expect(await suite.ledger.write(target('nobodys'), [asset('x', 'nobodys')])).toMatchObject({
      outcome: 'failed',
      code: 'LEDGER_UNAVAILABLE',
      message: expect.stringContaining('no peer that is asked knows the contract'),
      retryable: false,
    });
    await expect(suite.ledger.read(target('nobodys'), 'x')).rejects.toBeInstanceOf(LedgerUnavailableError);
  });

  it.each(['misnamed', 'mistyped'])('fails writes to a missing contract or transaction: %s', async (type) => {
    expect(await suite.ledger.write(target(type), [asset('x', type)])).toMatchObject({
      outcome: 'failed',
      code: 'LEDGER_UNAVAILABLE',
      message: expect.stringContaining('no contract of that name'),
      retryable: false,
    });
    await expect(suite.ledger.read(target(type), 'x')).rejects.toBeInstanceOf(LedgerUnavailableError);
  });

  it('probes each mapped contract once', async () => {
    const probes = probesOf(suite.channels, suite.mappings);
    expect(probes.map(({ call }) => `${call.channel}/${call.chaincode}`)).toEqual([
      'main/records',
      'shared/records',
      ...Array.from({ length: 4 }, () => 'main/basic'),
      'main/nowhere',
      'main/records',
      'main/basic',
    ]);
    const { ok, contracts } = await healthOf(suite.client, probes);
    expect(ok).toBe(true);
    expect(contracts.map(({ types }) => types.join())).toEqual([
      'ours.*,both.*,theirs.*,third.*',
      'kept.*',
      'vehicle,transfer,ranged,led',
      ...['pin', 'pin.Org2MSP', 'pin.Org9MSP', 'nobodys', 'misnamed', 'mistyped'],
    ]);
    const away = contracts.find(({ reason }) => reason === 'endorsers_away');
    expect(away?.detail).toMatch(/has the private data, cannot be reached: Org9MSP$/);
    expect(contracts.map(({ reason }) => reason)).toEqual([
      ...[null, null, null, null, null, 'endorsers_away'],
      ...['contract_missing', 'function_missing', 'function_missing'],
    ]);
  });
});
