import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { UnitResult } from '@sealgate/ledger-port';
import { until } from '@sealgate/testing';
import { fileOf, openTestFabric, SCHEMA, type TestFabric } from './testing/open-test-fabric.ts';

const PROGRAM = fileURLToPath(new URL('testing/append-and-print.ts', import.meta.url));
const LEASE_MS = 600;
const CHANNEL = 'acme.crashes';

let test: TestFabric;
const children: ChildProcess[] = [];

beforeAll(async () => {
  test = await openTestFabric();
}, 60_000);
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  test.peer.faults.clear();
  test.peer.orderer.start();
  test.peer.orderer.release();
});
afterAll(() => test.close());

/** `more`: members of the connection file; without a lease, the default of a surface. */
function appendElsewhere(
  id: string,
  claim: Buffer,
  { leaseMs, more = {} }: { leaseMs?: number; more?: object } = { leaseMs: LEASE_MS },
): { child: ChildProcess; said: () => string } {
  const order = {
    connection: fileOf(test.peer, { ...more }),
    databaseUrl: test.url,
    schema: SCHEMA,
    ...(leaseMs === undefined ? {} : { leaseMs }),
    channel: CHANNEL,
    id,
    claim: claim.toString('hex'),
  };
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let said = '';
  child.stdout.on('data', (text: Buffer) => (said += text.toString()));
  return { child, said: () => said };
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

const unitOf = (id: string, claim: Buffer) => ({
  network: 'acme',
  channel: CHANNEL,
  note: '{"by":"the one that came after"}',
  claim: { claim, fingerprint: 's1:a', acceptable: ['s1:a'] },
  records: [{ id, type: 'asset', owner: null, data: '{"n":1}', extra: null }],
});

const validOnes = () =>
  test.peer
    .channel('main')
    .transactions()
    .filter(({ code }) => code === 0);
const journalled = async () => {
  const [row] = await test.sql.query<{ open: number }>({
    text: `SELECT count(*)::int AS open FROM ${SCHEMA}.fabric_transactions WHERE settled_at IS NULL`,
  });
  return row!.open;
};
const late: UnitResult[] = [];
const openHeir = () => {
  const onResult = (result: UnitResult, { isLate }: { isLate: boolean }) => void (isLate && late.push(result));
  return test.openLedger({ onResult }, { leaseMs: LEASE_MS });
};

describe('a process that is killed', () => {
  it('before its journal row: nothing was sent, and the same request writes', async () => {
    const id = randomUUID();
    const claim = randomBytes(32);
    const valid = validOnes().length;
    const hang = test.peer.faults.inject('endorse', { drop: 'before' });
    const { child, said } = appendElsewhere(id, claim);
    await until(() => hang.struck() > 0, { timeoutMs: 20_000 });
    await kill(child);
    test.peer.faults.clear();
    expect(said()).toBe('');
    expect(await journalled()).toBe(0);
    const { ledger } = openHeir();
    expect(await ledger.read(CHANNEL, id)).toBeUndefined();
    expect(await ledger.append(unitOf(id, claim))).toMatchObject({ outcome: 'written' });
    expect(validOnes()).toHaveLength(valid + 1);
  }, 40_000);

  it('between its journal row and Submit: another process sends the same bytes, once', async () => {
    const id = randomUUID();
    const claim = randomBytes(32);
    const valid = validOnes().length;
    const hang = test.peer.faults.inject('submit', { drop: 'before' });
    const { child, said } = appendElsewhere(id, claim);
    await until(() => hang.struck() > 0, { timeoutMs: 20_000 });
    await kill(child);
    test.peer.faults.clear();
    expect(said()).toBe('');
    expect(await journalled()).toBe(1);
    expect(validOnes()).toHaveLength(valid);
    const { ledger } = openHeir();
    await until(async () => (await journalled()) === 0, { timeoutMs: 20_000 });
    expect(validOnes()).toHaveLength(valid + 1);
    expect(late.at(-1)).toMatchObject({ outcome: 'written', note: '{"by":"the one that was killed"}' });
    const replayed = await ledger.append(unitOf(id, claim));
    expect(replayed).toEqual({ ...late.at(-1), outcome: 'replayed' });
    expect(validOnes()).toHaveLength(valid + 1);
  }, 40_000);

  it('after Submit and before the block: another process learns the outcome', async () => {
    const id = randomUUID();
    const claim = randomBytes(32);
    const valid = validOnes().length;
    test.peer.orderer.hold();
    const { child, said } = appendElsewhere(id, claim);
    await until(() => test.peer.channel('main').pending() === 1, { timeoutMs: 20_000 });
    await kill(child);
    expect(said()).toBe('');
    const { ledger } = openHeir();
    const replayed = ledger.append(unitOf(id, claim));
    test.peer.orderer.release();
    expect(await replayed).toMatchObject({ outcome: 'replayed', note: '{"by":"the one that was killed"}' });
    await until(async () => (await journalled()) === 0, { timeoutMs: 20_000 });
    expect(validOnes()).toHaveLength(valid + 1);
  }, 40_000);

  it('after the block and before its answer: the journal is settled, and the request is replayed', async () => {
    const id = randomUUID();
    const claim = randomBytes(32);
    const valid = validOnes().length;
    // The child receives no block and no status.
    test.peer.blockStreams.hold();
    const hang = test.peer.faults.inject('commitStatus', { drop: 'before' });
    const { child, said } = appendElsewhere(id, claim);
    await until(() => hang.struck() > 0 && validOnes().length === valid + 1, { timeoutMs: 20_000 });
    await kill(child);
    test.peer.faults.clear();
    test.peer.blockStreams.release();
    expect(said()).toBe('');
    expect(await journalled()).toBe(1);
    const { ledger } = openHeir();
    expect(await ledger.append(unitOf(id, claim))).toMatchObject({ outcome: 'replayed' });
    await until(async () => (await journalled()) === 0, { timeoutMs: 20_000 });
    expect(validOnes()).toHaveLength(valid + 1);
  }, 40_000);

  it('is taken over by exactly one of two processes', async () => {
    const valid = validOnes().length;
    test.peer.faults.inject('submit', { drop: 'before' });
    const ids = Array.from({ length: 3 }, () => randomUUID());
    const dead = ids.map((id) => appendElsewhere(id, randomBytes(32)).child);
    await until(async () => (await journalled()) === 3, { timeoutMs: 30_000 });
    await Promise.all(dead.map(kill));
    test.peer.faults.clear();
    openHeir();
    const { ledger } = openHeir();
    await until(async () => (await journalled()) === 0, { timeoutMs: 20_000 });
    expect(validOnes()).toHaveLength(valid + 3);
    for (const id of ids) expect(await ledger.read(CHANNEL, id)).toMatchObject({ id });
  }, 60_000);

  // With a surface's lease and deadlines: the promise depends on both.
  it.each([
    ['between its journal row and Submit', 'submit'],
    ['after Submit', 'orderer'],
  ])(
    '%s: its transaction is settled within 6 s after the next start',
    async (_where, point) => {
      const [id, claim] = [randomUUID(), randomBytes(32)];
      const valid = validOnes().length;
      const hang = point === 'submit' ? test.peer.faults.inject('submit', { drop: 'before' }) : undefined;
      if (point === 'orderer') test.peer.orderer.hold();
      const { child } = appendElsewhere(id, claim, { more: { deadlinesMs: {} } });
      await until(() => (hang === undefined ? test.peer.channel('main').pending() === 1 : hang.struck() > 0), {
        timeoutMs: 20_000,
      });
      // The worst moment: just after its heartbeat.
      await justBeaten();
      await kill(child);
      test.peer.faults.clear();
      test.peer.orderer.release();
      const startedAt = performance.now();
      const { connection, onSettlement } = {
        connection: test.connection({ deadlinesMs: {} }),
        onSettlement: () => undefined,
      };
      test.open({ connection, onSettlement, journal: { sql: test.sql, schema: SCHEMA } });
      await until(async () => (await journalled()) === 0, { timeoutMs: 30_000 });
      expect(performance.now() - startedAt).toBeLessThan(6000);
      expect(validOnes()).toHaveLength(valid + 1);
    },
    60_000,
  );
});

/** Waits until some process has sent a heartbeat. */
async function justBeaten(): Promise<void> {
  const newest = async () => {
    const [row] = await test.sql.query<{ until: string }>({
      text: `SELECT max(alive_until)::text AS until FROM ${SCHEMA}.fabric_holders
              WHERE holder IN (SELECT holder FROM ${SCHEMA}.fabric_transactions WHERE settled_at IS NULL)`,
    });
    return row!.until;
  };
  const before = await newest();
  await until(async () => (await newest()) !== before, { timeoutMs: 20_000 });
}
