import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ChannelHaltedError, type AppendUnit } from '@sealgate/ledger-port';
import { copyDatabase, until } from '@sealgate/testing';
import { embeddedLedger } from '../embedded-ledger.ts';
import { heldIn } from '../known-ids.ts';
import { savedCheckpoints } from '../saved-checkpoints.ts';
import { openTestLedger, ORIGIN, type TestLedger } from '../testing/open-test-ledger.ts';

const LOST = 'acme.lost';
const WHOLE = 'acme.whole';
const SAID = (from: number, until_: number) =>
  `the database was rolled back or is a fork: of ${until_} records that were signed for, records ${from} to ${until_ - 1} are missing`;

let test: TestLedger;
beforeEach(async () => {
  test = await openTestLedger();
}, 120_000);
afterEach(() => test.close());

const unitOf = (channel: string, ...ids: string[]): AppendUnit => ({
  network: 'acme',
  channel,
  note: '{}',
  records: ids.map((id) => ({ id, type: 'asset', owner: null, data: '{}', extra: null })),
});
const write = (channel: string, ...ids: string[]) => test.ledger.append(unitOf(channel, ...ids));
const sign = (channel: string) => test.integrator.catchUp(channel, 1_000);
const sizeOf = (channel: string) => test.ledger.size(channel);

/** Two channels; records written to LOST since the copy are gone. */
async function loseRecords(): Promise<{ putBack: () => Promise<void> }> {
  await write(WHOLE, 'w0');
  await write(LOST, 'a', 'b');
  await sign(LOST);
  await sign(WHOLE);
  const older = await copyDatabase(test.url);
  await write(LOST, 'c', 'd');
  await sign(LOST);
  const newer = await copyDatabase(test.url, 'newer');
  await older();
  return { putBack: newer };
}

it('the loss is found at the start, before any write, and only that channel is halted', async () => {
  await loseRecords();
  const { integrator, ledger } = test.reopen();
  await integrator.start();
  expect([...integrator.halted]).toEqual([[LOST, `Channel ${LOST}: ${SAID(2, 4)}.`]]);

  const refused = ledger.append(unitOf(LOST, 'e'));
  await expect(refused).rejects.toBeInstanceOf(ChannelHaltedError);
  await expect(refused).rejects.toThrow(`Channel ${LOST} is halted`);
  expect(await sizeOf(LOST)).toBe(2);
  expect(await ledger.append(unitOf(WHOLE, 'w1'))).toMatchObject({ outcome: 'written' });

  // Existing records are read and proved; a query for written records is not answered with "nothing".
  expect(await ledger.read(LOST, 'a')).toMatchObject({ index: 0 });
  expect(await ledger.prove(LOST, 'b')).toMatchObject({ proof: { treeSize: 2 } });
  expect(await ledger.prove(WHOLE, 'w1')).toMatchObject({ proof: { treeSize: 2 } });
  await expect(heldIn(test.sql, LOST, ['c'])).rejects.toMatchObject({ name: 'LedgerUnavailableError' });
  expect(await heldIn(test.sql, WHOLE, ['w1'])).toEqual(new Set(['w1']));
  await integrator.stop();
}, 60_000);

it('a running integrator finds it at the next comparison, and every process reports it', async () => {
  await test.integrator.start();
  await loseRecords();
  await until(() => test.integrator.halted.has(LOST));
  const other = embeddedLedger({ sql: test.sql, origin: ORIGIN, now: Date.now });
  // Known to the integrator just before it is stored.
  await until(async () => (await other.health()).problem !== null);
  expect(await other.health()).toEqual({ ok: true, problem: `Channel ${LOST}: ${SAID(2, 4)}.` });
  expect(await test.ledger.health()).toMatchObject({ ok: true });
  expect(await other.audit(LOST)).toEqual({ ok: false, size: 2, firstBadRecordId: null, problem: SAID(2, 4) });
  expect(await other.audit(WHOLE)).toMatchObject({ ok: true });
}, 60_000);

it('resumes automatically once the signed database is restored', async () => {
  const { putBack } = await loseRecords();
  await test.integrator.start();
  await expect(write(LOST, 'e')).rejects.toBeInstanceOf(ChannelHaltedError);
  await putBack();
  await until(() => test.integrator.halted.size === 0);
  expect(await write(LOST, 'e')).toMatchObject({ outcome: 'written', records: [{ index: 4 }] });
  expect(await test.ledger.prove(LOST, 'e')).toMatchObject({ proof: { treeSize: 5 } });
  expect(await test.ledger.audit(LOST)).toMatchObject({ ok: true, size: 5 });
  expect(await test.ledger.health()).toEqual({ ok: true, problem: null });
}, 60_000);

it('a channel that is missing entirely is found by its folder, and cannot be started anew', async () => {
  await write(WHOLE, 'w0');
  await sign(WHOLE);
  const older = await copyDatabase(test.url);
  await write(LOST, 'a');
  await sign(LOST);
  await older();
  await test.integrator.start();
  const said = `the database was rolled back or is a fork: of 1 records that were signed for, record 0 is missing`;
  expect([...test.integrator.halted]).toEqual([[LOST, `Channel ${LOST}: ${said}.`]]);
  await expect(write(LOST, 'a')).rejects.toBeInstanceOf(ChannelHaltedError);
  expect(await test.ledger.audit(LOST)).toMatchObject({ ok: false, size: 0, problem: said });
}, 60_000);

it('if every channel lost records it starts, signs nothing, and is not ready', async () => {
  await write(LOST, 'a');
  await sign(LOST);
  const older = await copyDatabase(test.url);
  await write(LOST, 'b');
  await sign(LOST);
  const before = await test.ledger.checkpoint(LOST);
  await older();
  await test.integrator.start();
  expect(await test.ledger.health()).toEqual({
    ok: false,
    problem: `Channel ${LOST}: the database was rolled back or is a fork: of 2 records that were signed for, record 1 is missing.`,
  });
  await expect(test.integrator.catchUp(LOST, 2)).rejects.toThrow('rolled back');
  expect(await test.ledger.checkpoint(LOST)).not.toBe(before);
}, 60_000);

it('distinguishes missing records from those unsigned at the copy or written since', async () => {
  await write(LOST, 'a', 'b');
  await sign(LOST);
  await write(LOST, 'c');
  const older = await copyDatabase(test.url);
  await sign(LOST);
  await write(LOST, 'd', 'e');
  await sign(LOST);
  await older();
  await test.integrator.start();
  expect(await test.ledger.audit(LOST)).toMatchObject({
    problem:
      'the database was rolled back or is a fork: of 5 records that were signed for, records 3 to 4 are missing, and record 2 is not shown to be what was signed for',
  });
}, 60_000);

it('a fork is reported from the last common checkpoint', async () => {
  for (const id of ['a', 'b', 'c', 'd']) {
    await write(LOST, id);
    await sign(LOST);
  }
  const older = await copyDatabase(test.url);
  for (const id of ['e', 'f', 'g', 'h', 'i']) {
    await write(LOST, id);
    await sign(LOST);
  }
  await older();
  // Someone with the key, and an empty checkpoint folder.
  const forger = test.reopen({}, join(test.checkpointFolder, 'nothing-kept'));
  for (const id of ['x', 'y', 'z', 'x1', 'y1', 'z1', 'x2']) {
    await write(LOST, id);
    await forger.integrator.catchUp(LOST, 1_000);
  }
  await test.reopen().integrator.compare(LOST);
  expect(await test.ledger.audit(LOST)).toMatchObject({
    problem:
      'the database was rolled back or is a fork: of 9 records that were signed for, records 4 to 8 are not shown to be what was signed for',
  });
}, 60_000);

it('a checkpoint whose file was prevented by a crash is kept by the next comparison, and missed if lost', async () => {
  await write(LOST, 'a');
  await sign(LOST);
  const older = await copyDatabase(test.url);
  await write(LOST, 'b');
  // Signed and served, but its file was not written.
  await test.reopen({}, join(test.checkpointFolder, 'elsewhere')).integrator.catchUp(LOST, 2);
  const shown = await test.ledger.checkpoint(LOST);
  const saved = savedCheckpoints(test.checkpointFolder, Date.now);
  expect(await saved.newest(LOST)).not.toBe(shown);
  await test.integrator.start();
  expect(await saved.newest(LOST)).toBe(shown);
  await older();
  await until(() => test.integrator.halted.has(LOST));
}, 60_000);

it('a checkpoint that a full disk prevented is kept by a later comparison', async () => {
  const saved = savedCheckpoints(test.checkpointFolder, Date.now);
  const file = join(test.checkpointFolder, LOST, `${new Date().toISOString().slice(0, 10)}.ndjson`);
  mkdirSync(join(test.checkpointFolder, LOST));
  symlinkSync('/dev/full', file);
  await write(LOST, 'a');
  await expect(sign(LOST)).rejects.toThrow('ENOSPC');
  await test.integrator.compare(LOST);
  rmSync(file);
  expect(await saved.newest(LOST)).toBeUndefined();
  await test.integrator.compare(LOST);
  expect(await saved.newest(LOST)).toBe(await test.ledger.checkpoint(LOST));
}, 60_000);

it('a halt that is deleted from the database is restored by the next comparison', async () => {
  await loseRecords();
  await test.integrator.start();
  await test.sql.query({ text: 'DELETE FROM ledger.halts' });
  const open = "UPDATE ledger.channels SET appenders = ARRAY['postgres'] WHERE channel = $1";
  await test.sql.query({ text: open, values: [LOST] });
  const isRefused = () =>
    write(LOST, 'e').then(
      () => false,
      (error) => error instanceof ChannelHaltedError,
    );
  await until(isRefused);
  expect(await test.ledger.audit(LOST)).toMatchObject({ ok: false });
}, 60_000);

it('an emptied checkpoint folder does not lift a halt', async () => {
  await loseRecords();
  await test.reopen().integrator.compare(LOST);
  rmSync(join(test.checkpointFolder, LOST), { recursive: true });
  const { integrator } = test.reopen();
  await integrator.start();
  expect(integrator.halted.get(LOST)).toContain(SAID(2, 4));
  await expect(write(LOST, 'e')).rejects.toBeInstanceOf(ChannelHaltedError);
  await integrator.stop();
}, 60_000);

it('units of other channels in the same call succeed when some are refused', async () => {
  await loseRecords();
  await test.reopen().integrator.compare(LOST);
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, (_, n) => write(n % 4 === 0 ? LOST : WHOLE, `n${n}`)),
  );
  const of = (status: string) => results.filter((result) => result.status === status).length;
  expect([of('fulfilled'), of('rejected')]).toEqual([30, 10]);
  expect(await sizeOf(WHOLE)).toBe(31);
  expect(await sizeOf(LOST)).toBe(2);
}, 60_000);

it('a call that opens the head of the channel is refused with a code of outages without a write', async () => {
  await loseRecords();
  await test.reopen().integrator.compare(LOST);
  const call = test.sql.query({ text: `SELECT ledger.open_heads(ARRAY['${LOST}'], ARRAY['acme'])` });
  await expect(call).rejects.toMatchObject({ name: 'DatabaseUnavailableError', sent: false });
}, 60_000);

it('an append running when the channel is halted commits before the halt, and none after it', async () => {
  await loseRecords();
  const { integrator } = test.reopen();
  const outcomes: string[] = [];
  let halted = false;
  const writer = async () => {
    for (let [n, after] = [0, 0]; after < 5; n += 1) {
      if (halted) after += 1;
      const afterHalt = halted;
      const told = await write(LOST, `u${n}`).then(
        ({ outcome }) => outcome,
        (error: Error) => error.name,
      );
      outcomes.push(`${afterHalt} ${told}`);
    }
  };
  const writing = writer();
  await integrator.compare(LOST);
  halted = true;
  await writing;
  expect(new Set(outcomes.filter((outcome) => outcome.startsWith('true')))).toEqual(
    new Set(['true ChannelHaltedError']),
  );
}, 60_000);

it("the query of the operators' page lists the signed sizes, and the missing records", async () => {
  const page = new URL('../../../../../infra/operations/recover-a-loss.md', import.meta.url);
  const [, text = ''] = /```sql\n(.*?)```/s.exec(readFileSync(page, 'utf8')) ?? [];
  await loseRecords();
  await test.reopen().integrator.compare(LOST);
  expect(await test.sql.query({ text })).toEqual([
    {
      channel: LOST,
      size: '2',
      signed: '2',
      lost_from: '2',
      lost_until: '4',
      problem: `Channel ${LOST}: ${SAID(2, 4)}.`,
    },
    { channel: WHOLE, size: '1', signed: '1', lost_from: null, lost_until: null, problem: null },
  ]);
}, 60_000);
