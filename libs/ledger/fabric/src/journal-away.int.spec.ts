import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ClaimInFlightError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  type UnitResult,
} from '@sealgate/ledger-port';
import { openDatabase } from '@sealgate/storage';
import { until } from '@sealgate/testing';
import { UnavailableError } from './fabric-errors.ts';
import type { FabricLedger } from './fabric-ledger.ts';
import { read, write } from './testing/contract-calls.ts';
import { openTestFabric, SCHEMA, type TestFabric } from './testing/open-test-fabric.ts';

let test: TestFabric;
let ledger: FabricLedger;
const late: UnitResult[] = [];

beforeAll(async () => {
  test = await openTestFabric();
  const onResult = (result: UnitResult, { isLate }: { isLate: boolean }) => void (isLate && late.push(result));
  ({ ledger } = test.openLedger({ onResult, answerWithinMs: 1500 }));
}, 60_000);
afterAll(() => test.close());

const CHANNEL = 'acme.main';
const claimOf = (claim: Buffer, fingerprint: string) => ({ claim, fingerprint, acceptable: [fingerprint] });
const unit = (id: string, claim?: Buffer, fingerprint = 's1:a') => ({
  network: 'acme',
  channel: CHANNEL,
  note: '{"event":1}',
  records: [{ id, type: 'asset', owner: null, data: '{"n":1}', extra: null }],
  ...(claim === undefined ? {} : { claim: claimOf(claim, fingerprint) }),
});
const ordered = () => test.peer.channel('main').transactions().length + test.peer.channel('main').pending();
const alter = (text: string) => test.sql.query({ text: text.replaceAll('journal', `${SCHEMA}.fabric_transactions`) });

const nowhere = () => {
  const limits = { maxConnections: 1, connectTimeoutMs: 300, deadlineMs: 300 };
  return openDatabase({ url: 'postgres://nobody:x@127.0.0.1:1/none', applicationName: 'test', ...limits });
};

describe('while the journal cannot be written', () => {
  it('nothing is sent, and "nothing was written" is true', async () => {
    const before = ordered();
    await alter('ALTER TABLE journal RENAME COLUMN request TO away');
    await expect(ledger.append(unit(randomUUID()))).rejects.toThrow(LedgerUnavailableError);
    await alter('ALTER TABLE journal RENAME COLUMN away TO request');
    expect(ordered()).toBe(before);
    expect(await ledger.append(unit(randomUUID()))).toMatchObject({ outcome: 'written' });
  });

  it('a row of unknown outcome is retried: the caller gets "unknown", and it is written once', async () => {
    const id = randomUUID();
    const before = ordered();
    const told = await test.sql.transaction(async (locked) => {
      await locked.query({ text: `LOCK TABLE ${SCHEMA}.fabric_transactions` });
      return ledger.append(unit(id)).catch((error: unknown) => error);
    });
    expect(told).toBeInstanceOf(OutcomeUnknownError);
    await until(() => late.length === 1, { timeoutMs: 10_000 });
    expect(late[0]).toMatchObject({ outcome: 'written', transactionId: (told as OutcomeUnknownError).transactionId });
    expect(ordered()).toBe(before + 1);
    expect(await ledger.append(unit(id))).toMatchObject({ outcome: 'existing' });
  }, 30_000);

  it('a claim that cannot be looked up is not taken, and nothing is sent', async () => {
    const before = ordered();
    await alter('ALTER TABLE journal RENAME COLUMN status TO away');
    await expect(ledger.append(unit(randomUUID(), randomBytes(32)))).rejects.toThrow();
    await alter('ALTER TABLE journal RENAME COLUMN away TO status');
    expect(ordered()).toBe(before);
  });

  it('a held claim whose outcome cannot be asked is unknown, never "nothing was written"', async () => {
    const [id, claim] = [randomUUID(), randomBytes(32)];
    const before = ordered();
    test.peer.orderer.hold();
    const first = ledger.append(unit(id, claim)).catch((error: unknown) => error);
    await until(() => ordered() === before + 1);
    // The claim is found; then the journal of the transaction that holds it does not answer.
    const away = nowhere();
    const client = test.open({ journal: { sql: away, schema: SCHEMA } });
    const { ledger: asked } = test.openLedger({ client });
    const told = await asked.append(unit(id, claim)).catch((error: unknown) => error);
    expect(told).toBeInstanceOf(OutcomeUnknownError);
    await expect(asked.append(unit(randomUUID(), claim, 's1:other'))).rejects.toThrow(ClaimInFlightError);
    test.peer.orderer.release();
    await first;
    const { transactionId } = told as OutcomeUnknownError;
    expect(await ledger.append(unit(id, claim))).toMatchObject({ outcome: 'replayed', transactionId });
    expect(ordered()).toBe(before + 1);
    await client.close();
    await away.close();
  });

  it('health reports it', async () => {
    const away = nowhere();
    const problems: string[] = [];
    const client = test.open({
      journal: { sql: away, schema: SCHEMA },
      observer: { problem: (what) => void problems.push(what) },
    });
    expect(await client.health([read('a')])).toMatchObject({
      ok: false,
      problem: 'the database of the journal does not answer',
      contracts: [{ ok: true }],
    });
    await expect(client.findGroup('x')).rejects.toThrow(UnavailableError);
    await expect(client.submit(write(randomUUID()))).rejects.toThrow(UnavailableError);
    expect(await client.evaluate(read('nobody'))).toHaveLength(0);
    await until(() => problems.includes('journal_away'));
    await client.close();
    await away.close();
  });
});
