import { expect, it } from '@jest/globals';
import { join } from 'node:path';
import { receiptLeaf } from '@sealgate/envelope';
import { ChannelHaltedError } from '@sealgate/ledger-port';
import { parseCheckpoint } from '@sealgate/merkle';
import { copyDatabase, until } from '@sealgate/testing';
import { embeddedLedger } from '../embedded-ledger.ts';
import { heldIn } from '../known-ids.ts';
import { BY, E1, eachWithLostChannel, LOST, type LostChannel } from '../testing/lost-channel.ts';
import { ORIGIN, type TestLedger } from '../testing/open-test-ledger.ts';

let test: TestLedger;
let at: LostChannel;
eachWithLostChannel((parts) => void ({ test, at } = parts));

it('a channel continues in a new log that begins with its loss; a lost write is a new record there', async () => {
  await at.loseRecords();
  const before = await test.ledger.audit(LOST);
  expect(before).toMatchObject({ ok: false, size: 2 });
  const state = await test.ledger.loss(LOST);
  expect(state).toMatchObject({
    status: 'lost',
    epoch: 0,
    declaration: null,
    problem: expect.stringContaining('rolled back'),
  });
  expect(state.lost).toEqual([
    {
      epoch: 0,
      lostFrom: 2,
      lostUntil: 4,
      checkpoint: await at.saved().newest(LOST),
      surviving: await test.ledger.checkpoint(LOST),
    },
  ]);
  await at.recover();

  const again = await at.write('c', 'x');
  expect(again).toMatchObject({
    outcome: 'written',
    records: [
      { id: 'c', index: 1, epoch: 1, existing: false },
      { id: 'x', index: 2, epoch: 1, existing: false },
    ],
  });
  expect(await at.write('c', 'x')).toMatchObject({
    outcome: 'existing',
    records: [
      { index: 1, epoch: 1 },
      { index: 2, epoch: 1 },
    ],
  });
  expect(await at.write('a')).toMatchObject({ outcome: 'existing', records: [{ index: 0, existing: true }] });
  expect(await test.ledger.read(LOST, 'c')).toMatchObject({ index: 1, epoch: 1 });
  expect(await test.ledger.read(LOST, 'b')).toMatchObject({ index: 1 });
  expect(await test.ledger.read(LOST, 'b')).not.toHaveProperty('epoch');

  const { receipt, proof } = (await test.ledger.prove(LOST, 'x'))!;
  expect(receipt).toMatchObject({ channel: LOST, index: 2, epoch: 1 });
  expect(proof).toMatchObject({ channel: LOST, index: 2, epoch: 1, origin: `${ORIGIN}/${E1}`, treeSize: 3 });
  expect(proof.declaration!.statement).toEqual({
    type: 'sealgate.declaration.v1',
    network: 'acme',
    channel: LOST,
    epoch: 1,
    origin: `${ORIGIN}/${E1}`,
    lost: state.lost,
    reason: BY.reason,
    actor: BY.actor,
    at: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  at.expectProved(proof, receiptLeaf(receipt));
  // Surviving records are proved in the log they were written to.
  const old = (await test.ledger.prove(LOST, 'b'))!;
  expect(old.proof).toMatchObject({ index: 1, treeSize: 2 });
  expect(old.proof).not.toHaveProperty('epoch');
  at.expectProved(old.proof, receiptLeaf(old.receipt));

  // No witness sees the old log shrink, and nothing more is signed for it.
  expect(await test.ledger.checkpoint(LOST)).toBe(state.lost[0]!.checkpoint);
  expect(await at.sizesKept(LOST)).toEqual([2, 4]);
  expect(await at.sizesKept(E1)).toEqual([1, 3]);
  expect(parseCheckpoint((await test.ledger.checkpoint(E1))!)).toMatchObject({ origin: `${ORIGIN}/${E1}`, size: 3 });
  expect(await test.ledger.tile(E1, { level: 0, index: 0, width: 3 })).toHaveLength(96);
  expect(await test.ledger.declaration(LOST, 1)).toMatchObject({ treeSize: 3, statement: { epoch: 1 } });
  expect(await test.ledger.declaration(LOST, 2)).toBeUndefined();
  expect(await test.ledger.audit(LOST)).toEqual({ ok: true, size: 4, firstBadRecordId: null, problem: null });
  expect(await test.ledger.health()).toEqual({ ok: true, problem: null });
}, 60_000);

it('after a fork, signed records are proved under the newest kept checkpoint that is continued', async () => {
  await at.write('a');
  await at.sign();
  await at.write('b');
  await at.sign();
  const older = await copyDatabase(test.url);
  await at.write('c', 'd');
  await at.sign();
  await older();
  // Someone with the key, and an empty checkpoint folder.
  const forger = test.reopen({}, join(test.checkpointFolder, 'nothing-kept'));
  await at.write('x');
  await forger.integrator.catchUp(LOST, 1_000);
  await at.recover();
  const [lost] = (await test.ledger.prove(LOST, 'x'))!.proof.declaration!.statement.lost;
  expect(lost).toMatchObject({ epoch: 0, lostFrom: 2, lostUntil: 4 });
  // Its signature in this log was never kept: the record belongs to the next log.
  expect(await test.ledger.prove(LOST, 'x')).toMatchObject({ proof: { index: 1, epoch: 1 } });
  const { receipt, proof } = (await test.ledger.prove(LOST, 'b'))!;
  expect(proof).toMatchObject({ index: 1, treeSize: 2, checkpoint: lost!.surviving });
  at.expectProved(proof, receiptLeaf(receipt));
  expect(await test.ledger.audit(LOST)).toMatchObject({ ok: true, size: 3 });
}, 60_000);

it('records unsigned at the loss, or written before it was found, follow the declaration', async () => {
  await at.write('a', 'b');
  await at.sign();
  await at.write('c');
  const older = await copyDatabase(test.url);
  await at.sign();
  await at.write('d');
  await at.sign();
  await older();
  // No comparison has run yet.
  expect(await at.write('e')).toMatchObject({ outcome: 'written', records: [{ index: 3 }] });
  await at.recover();
  expect(await at.write('c', 'e')).toMatchObject({
    outcome: 'existing',
    records: [
      { id: 'c', index: 1, epoch: 1 },
      { id: 'e', index: 2, epoch: 1 },
    ],
  });
  const { receipt, proof } = (await test.ledger.prove(LOST, 'e'))!;
  at.expectProved(proof, receiptLeaf(receipt));
  expect(await test.ledger.query({ channel: LOST, type: 'asset', afterId: '', limit: 10 })).toMatchObject([
    { id: 'a', index: 0 },
    { id: 'b', index: 1 },
    { id: 'c', index: 1, epoch: 1 },
    { id: 'e', index: 2, epoch: 1 },
  ]);
  expect(await test.ledger.audit(LOST)).toMatchObject({ ok: true, size: 4 });
}, 60_000);

it('a channel that lost everything continues, too', async () => {
  const older = await copyDatabase(test.url);
  await at.write('a');
  await at.sign();
  await older();
  await at.recover();
  expect(await at.write('a')).toMatchObject({ outcome: 'written', records: [{ index: 1, epoch: 1 }] });
  expect(await test.ledger.prove(LOST, 'a')).toMatchObject({
    proof: { declaration: { statement: { lost: [{ lostFrom: 0, lostUntil: 1, surviving: null }] } } },
  });
  expect(await test.ledger.audit(LOST)).toMatchObject({ ok: true, size: 1 });
  // There is no time of a last surviving record.
  expect(
    await test.sql.query({
      text: 'SELECT epoch, first_index, lost_until, kept_at_ms FROM ledger.epochs($1)',
      values: [[LOST]],
    }),
  ).toEqual([{ epoch: 1, first_index: '0', lost_until: '1', kept_at_ms: '0' }]);
}, 60_000);

it('a channel waits for its epoch: it accepts nothing before that is signed, kept, and known to every process', async () => {
  await at.loseRecords();
  await test.integrator.compare(LOST);
  await at.declare();
  const refused = () => expect(at.write('e')).rejects.toBeInstanceOf(ChannelHaltedError);
  await refused();
  // No integrator signs.
  await at.letTimePass();
  expect(await test.sql.query({ text: `SELECT ledger.resume('${LOST}') AS resumed` })).toEqual([{ resumed: false }]);
  await refused();
  expect(await test.ledger.audit(LOST)).toMatchObject({
    ok: false,
    problem: expect.stringContaining('a loss was declared'),
  });

  // The process ends after signing, before writing the file.
  await test.reopen({}, join(test.checkpointFolder, 'elsewhere')).integrator.catchUp(E1, 10);
  expect(await at.saved().epochs(LOST)).toEqual([0]);
  await test.sql.query({ text: 'UPDATE ledger.epochs SET declared_at = clock_timestamp()' });
  // The next one keeps it, but resumes the channel only after the waiting time.
  const { integrator, ledger } = test;
  await integrator.start();
  await until(async () => (await at.saved().epochs(LOST)).includes(1));
  await refused();
  expect(await ledger.loss(LOST)).toMatchObject({ status: 'declared' });
  await at.letTimePass();
  await until(async () => (await ledger.loss(LOST)).status === 'whole');
  expect(await at.write('e')).toMatchObject({ outcome: 'written', records: [{ index: 1, epoch: 1 }] });
}, 60_000);

it('an integrator without the kept checkpoints signs nothing for the old log', async () => {
  await at.loseRecords();
  await test.integrator.compare(LOST);
  await at.declare();
  await test.reopen({}, join(test.checkpointFolder, 'nothing-kept')).integrator.catchUp(LOST, 10);
  const begin = { text: 'SELECT * FROM ledger.integrate_begin($1, 10)', values: [LOST] };
  expect(await test.sql.query(begin)).toEqual([]);
  const commit = `SELECT ledger.integrate_commit(ARRAY['${LOST}'], ARRAY[2::int8], ARRAY[''::bytea], ARRAY['note'],
    ARRAY[]::int4[], ARRAY[]::int2[], ARRAY[]::int8[], ARRAY[]::bytea[])`;
  await expect(test.sql.query({ text: commit })).rejects.toThrow('ended with a declared loss');
  // An integrator that compared before the declaration does not halt the channel again.
  const losses = JSON.stringify((await test.ledger.loss(LOST)).lost);
  await at.letTimePass();
  await at.sign(E1);
  await test.integrator.compare(LOST);
  expect(await test.ledger.loss(LOST)).toMatchObject({ status: 'whole' });
  const halt = 'SELECT ledger.halt($1, $2, $3, $4, 1)';
  await test.sql.query({ text: halt, values: ['acme', LOST, 'lost', losses] });
  expect(await at.write('e')).toMatchObject({ outcome: 'written' });
}, 60_000);

it('a channel that waits for its epoch accepts nothing, whatever else is found', async () => {
  await at.loseRecords();
  await test.integrator.compare(LOST);
  await at.declare();
  const halt = 'SELECT ledger.halt($1, $2, $3, NULL, 1)';
  await test.sql.query({ text: halt, values: ['acme', LOST, 'a tile is missing'] });
  expect(await test.ledger.loss(LOST)).toMatchObject({ status: 'declared', problem: 'a tile is missing' });
  await expect(at.write('e')).rejects.toBeInstanceOf(ChannelHaltedError);
}, 60_000);

it('lost ids are absent: a client reads the epochs before it takes that for never written', async () => {
  await at.loseRecords();
  await at.recover();
  await at.write('e');
  expect(await heldIn(test.sql, LOST, ['c', 'e'])).toEqual(new Set(['e']));
}, 60_000);

it('a process that does not know the epoch yet reads it before writing', async () => {
  await at.loseRecords();
  const other = embeddedLedger({ sql: test.sql, origin: ORIGIN, now: Date.now });
  await other.epochs.fresh();
  await at.recover();
  await until(async () => {
    await other.epochs.fresh();
    return other.epochs.of(LOST).length === 1;
  });
  expect(await other.append(at.unitOf('e'))).toMatchObject({ records: [{ index: 1, epoch: 1 }] });
  expect(await other.read(LOST, 'e')).toMatchObject({ index: 1, epoch: 1 });
}, 60_000);
