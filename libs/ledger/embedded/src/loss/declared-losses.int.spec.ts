import { expect, it } from '@jest/globals';
import { receiptLeaf } from '@sealgate/envelope';
import { ChannelHaltedError } from '@sealgate/ledger-port';
import { copyDatabase, until } from '@sealgate/testing';
import { BY, E1, eachWithLostChannel, LOST, type LostChannel } from '../testing/lost-channel.ts';
import { ORIGIN, type TestLedger } from '../testing/open-test-ledger.ts';

let test: TestLedger;
let at: LostChannel;
eachWithLostChannel((parts) => void ({ test, at } = parts));

it('only an actual loss can be declared, once, with the given reason and actor', async () => {
  await at.write('a');
  await at.sign();
  const whole = (await test.ledger.checkpoint(LOST))!;
  expect(await test.ledger.loss(LOST)).toEqual({
    channel: LOST,
    status: 'whole',
    problem: null,
    lost: [],
    foundAt: null,
    sharedAt: null,
    epoch: 0,
    declaration: null,
  });
  expect(await test.ledger.declareLoss(LOST, { ...BY, checkpoint: whole })).toBe(false);
  expect(await test.ledger.declareLoss('acme.other', { ...BY, checkpoint: whole })).toBe(false);
  await at.loseRecords();
  await test.integrator.compare(LOST);
  expect(await test.ledger.declareLoss(LOST, { ...BY, checkpoint: whole })).toBe(false);
  expect((await test.ledger.loss(LOST)).status).toBe('lost');
  const all = { after: '', limit: 10 };
  expect(await test.ledger.losses(all)).toEqual([await test.ledger.loss(LOST)]);
  expect(await test.ledger.losses({ ...all, after: LOST })).toEqual([]);

  const outcomes = await Promise.all([1, 2, 3].map((n) => at.declare(test.reopen().ledger, { requestId: `req_${n}` })));
  expect(outcomes).toEqual([true, true, true]);
  expect(await at.declare()).toBe(true);
  const rows = await test.sql.query({ text: 'SELECT epoch, actor, declared_by FROM ledger.epochs' });
  expect(rows).toEqual([{ epoch: 1, actor: BY.actor, declared_by: 'postgres' }]);
  expect(await test.ledger.loss(LOST)).toMatchObject({
    status: 'declared',
    epoch: 1,
    declaration: { reason: BY.reason },
  });

  expect(await test.ledger.losses(all)).toEqual([await test.ledger.loss(LOST)]);

  // A statement about another loss, or of another epoch, is rejected.
  const say = (said: object) =>
    test.sql.query<{ epoch: number | null }>({
      text: 'SELECT ledger.declare_loss($1, $2, $3, $4) AS epoch',
      values: [LOST, JSON.stringify({ channel: LOST, epoch: 2, ...said }), 'x', 'y'],
    });
  expect(await say({ lost: [] })).toEqual([{ epoch: null }]);
}, 60_000);

it('a second loss, in an epoch, is found and declared in the next one', async () => {
  await at.loseRecords();
  await at.recover();
  await at.write('e', 'f');
  await at.sign(E1);
  const older = await copyDatabase(test.url);
  await at.write('g');
  await at.sign(E1);
  await older();
  await until(() => test.integrator.halted.has(LOST));
  const said = 'of 4 entries that were signed for in e1, entry 3 is missing';
  expect(await test.ledger.audit(LOST)).toMatchObject({ ok: false, size: 4, problem: expect.stringContaining(said) });
  await expect(at.write('g')).rejects.toBeInstanceOf(ChannelHaltedError);
  await at.recover();
  expect(await at.write('g')).toMatchObject({ outcome: 'written', records: [{ index: 1, epoch: 2 }] });
  const { receipt, proof } = (await test.ledger.prove(LOST, 'g'))!;
  expect(proof).toMatchObject({
    origin: `${ORIGIN}/${LOST}/e2`,
    declaration: { statement: { epoch: 2, lost: [{ epoch: 1, lostFrom: 3, lostUntil: 4 }] } },
  });
  at.expectProved(proof, receiptLeaf(receipt));
  const inFirst = (await test.ledger.prove(LOST, 'f'))!;
  expect(inFirst.proof).toMatchObject({ index: 2, epoch: 1, treeSize: 3, declaration: { statement: { epoch: 1 } } });
  at.expectProved(inFirst.proof, receiptLeaf(inFirst.receipt));
  expect(await test.ledger.checkpoint(E1)).toBe(proof.declaration!.statement.lost[0]!.checkpoint);
  expect(await test.ledger.audit(LOST)).toMatchObject({ ok: true, size: 5 });
}, 60_000);

it.each([
  ['the old log', 0],
  ['nothing but the old log, which is whole there', 1],
])(
  'a database that lost the declaration is not signed: it has %s',
  async (_, isWhole) => {
    await at.write('a', 'b');
    await at.sign();
    const older = await copyDatabase(test.url);
    await at.write('c', 'd');
    await at.sign();
    const newer = await copyDatabase(test.url, 'newer');
    await older();
    const olderStill = await copyDatabase(test.url, 'older');
    await at.recover();
    await at.write('e');
    await at.sign(E1);
    await (isWhole === 1 ? newer : olderStill)();
    await until(() => test.integrator.halted.has(LOST));
    // A process started now behaves the same.
    const { integrator } = test.reopen();
    await expect(integrator.catchUp(LOST, 10)).rejects.toThrow(
      'of 2 entries that were signed for in e1, entries 0 to 1 are missing',
    );
    await expect(at.write('x')).rejects.toBeInstanceOf(ChannelHaltedError);
    expect(await at.sizesKept(LOST)).toEqual([2, 4]);

    await at.recover();
    const kept = { lostFrom: isWhole === 1 ? 4 : 2, lostUntil: 4 };
    expect(await at.write('e')).toMatchObject({ outcome: 'written', records: [{ index: 1, epoch: 2 }] });
    const { receipt, proof } = (await test.ledger.prove(LOST, 'e'))!;
    expect(proof.declaration!.statement).toMatchObject({
      epoch: 2,
      lost: [
        { epoch: 0, ...kept },
        { epoch: 1, lostFrom: 0, lostUntil: 2, surviving: null },
      ],
    });
    at.expectProved(proof, receiptLeaf(receipt));
    expect(await test.ledger.checkpoint(E1)).toBe(await at.saved().newest(E1));
    expect(await test.ledger.checkpoint(LOST)).toBe(await at.saved().newest(LOST));
    expect(await test.ledger.audit(LOST)).toMatchObject({ ok: true, size: isWhole === 1 ? 5 : 3 });
  },
  60_000,
);

it.each([
  ['is another text', `statement = replace(statement, 'Monday', 'Sunday')`],
  ['hashes to another leaf', `leaf_hash = sha256('x')`],
  ['ends the old log below its signed size', `statement = replace(statement, '"lostUntil":4', '"lostUntil":3')`],
  ['cannot be parsed', `statement = '{"lost":[]}'`],
])(
  'an epoch is not signed if its declaration %s',
  async (_, change) => {
    await at.loseRecords();
    await test.integrator.compare(LOST);
    await at.declare();
    await test.sql.query({ text: `UPDATE ledger.epochs SET ${change}` });
    await expect(at.sign(E1)).rejects.toThrow('its declaration');
    expect(await test.ledger.checkpoint(E1)).toBeUndefined();
  },
  60_000,
);

it.each([
  [
    'its text',
    `UPDATE ledger.epochs SET statement = replace(statement, 'Monday', 'Sunday')`,
    'the declaration of epoch 1',
  ],
  [
    'the tile under it',
    `UPDATE ledger.tiles SET hashes = decode(repeat('ab', 32), 'hex') || substr(hashes, 33)
     WHERE channel_id = (SELECT tree_id FROM ledger.epochs)`,
    'the declaration of epoch 1',
  ],
  [
    'a record after it',
    `UPDATE ledger.records SET data = '{}' WHERE id = 'y'`,
    'record 3: it is not what its leaf was made of',
  ],
  ['its first record', 'UPDATE ledger.epochs SET first_index = first_index + 1', 'the row of acme.lost/e1'],
  ['its end', 'UPDATE ledger.epochs SET lost_until = lost_until + 1', 'the row of acme.lost/e1'],
  ['the time after which records may be lost', 'UPDATE ledger.epochs SET kept_at_ms = kept_at_ms + 1', 'the row of'],
  ['its actor', `UPDATE ledger.epochs SET actor = 'somebody'`, 'the row of acme.lost/e1'],
  ['the newest epoch of the channel', 'UPDATE ledger.channels SET epoch = 0', 'the row of acme.lost'],
  ['its number', 'UPDATE ledger.epochs SET epoch = 2', 'the row of acme.lost'],
  ['the number of its tree', 'UPDATE ledger.epochs SET tree_id = 999999', 'rows belong to no channel'],
  ['its leaf', `UPDATE ledger.epochs SET leaf_hash = sha256('x')`, 'the declaration of epoch 1'],
  [
    'its tiles',
    `DELETE FROM ledger.tiles WHERE channel_id = (SELECT tree_id FROM ledger.epochs)`,
    'tile 0/0 is missing',
  ],
])(
  'an audit detects a change of %s',
  async (_, text, problem) => {
    await at.loseRecords();
    await at.recover();
    await at.write('x', 'y');
    await at.sign(E1);
    await test.integrator.stop();
    await test.sql.query({ text });
    expect(await test.ledger.audit(LOST)).toMatchObject({ ok: false, problem: expect.stringContaining(problem) });
  },
  60_000,
);
