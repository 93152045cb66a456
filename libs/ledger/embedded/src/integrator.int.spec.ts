import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { noteVerifier } from '@sealgate/merkle';
import type { Database, Statement } from '@sealgate/storage';
import { until } from '@sealgate/testing';
import { Integrator } from './integrator.ts';
import { savedCheckpoints, type SavedCheckpoints } from './saved-checkpoints.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './testing/open-test-ledger.ts';

const CHANNELS = 300;
const names = Array.from({ length: CHANNELS }, (_, n) => `acme.c${String(n).padStart(3, '0')}`);
let test: TestLedger;

beforeAll(async () => {
  test = await openTestLedger();
  await writeAll('first');
}, 120_000);
afterAll(() => test.close());

const writeAll = (id: string) =>
  Promise.all(
    names.map((channel) => {
      const records = [{ id, type: 'asset', owner: null, data: '{}', extra: null }];
      return test.ledger.append({ network: 'acme', channel, note: '', records });
    }),
  );

function open(more: {
  readonly saved?: Partial<SavedCheckpoints>;
  readonly sql?: Database;
  readonly compareEveryMs?: number;
}) {
  return new Integrator({
    sql: test.sql,
    signer: test.signer,
    verifier: noteVerifier(test.verifierKey),
    origin: ORIGIN,
    leavesAtOnce: 65_536,
    deadlineMs: 10_000,
    everyMs: 10,
    compareEveryMs: 60_000,
    now: Date.now,
    ...more,
    saved: { ...savedCheckpoints(test.checkpointFolder, Date.now), ...more.saved },
  });
}

it('continues with other channels while the files of some cannot be written', async () => {
  const files = savedCheckpoints(test.checkpointFolder, Date.now);
  const written = new Set<string>();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const integrator = open({
    saved: {
      async save(channel, note) {
        if (channel === names[0]) await released;
        await files.save(channel, note);
        written.add(channel);
      },
    },
  });
  await integrator.start();
  // The others of its transaction, and all other channels.
  await until(() => written.size === CHANNELS - 1, { what: 'all channels but one to be kept' });
  expect(written.has(names[0]!)).toBe(false);
  release();
  await until(() => written.size === CHANNELS);
  await integrator.stop();
  for (const channel of names) expect(await files.newest(channel)).toBe(await test.ledger.checkpoint(channel));
});

it('compares at most a hundred channels between two rounds, and each of them in time', async () => {
  const files = savedCheckpoints(test.checkpointFolder, Date.now);
  const rounds: string[][] = [[]];
  const integrator = open({
    compareEveryMs: 50,
    saved: {
      newest(channel) {
        rounds.at(-1)!.push(channel);
        return files.newest(channel);
      },
    },
    sql: {
      ...test.sql,
      query: <Row extends object>(statement: Statement) => {
        if (statement.name === 'ledger logs') rounds.push([]);
        return test.sql.query<Row>(statement);
      },
    },
  });
  await integrator.start();
  // At the start all are compared before anything is signed.
  expect(rounds.flat().sort()).toEqual(names);
  const atStart = rounds.length;
  await writeAll('second');
  const since = () => rounds.slice(atStart);
  await until(() =>
    names.every(
      (name) =>
        since()
          .flat()
          .filter((channel) => channel === name).length >= 2,
    ),
  );
  await integrator.stop();
  expect(Math.max(...since().map(({ length }) => length))).toBe(100);
  for (const channel of names) expect(await test.ledger.audit(channel)).toMatchObject({ ok: true, size: 2 });
}, 60_000);
