import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { isOnFabric } from '@sealgate/envelope';
import {
  ClaimInFlightError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  type UnitResult,
} from '@sealgate/ledger-port';
import { describeLedger } from '@sealgate/ledger-port/contract';
import { until } from '@sealgate/testing';
import type { FabricClient } from './fabric-client.ts';
import type { FabricLedger } from './fabric-ledger.ts';
import { openTestFabric, type TestFabric } from './testing/open-test-fabric.ts';
import type { KnownUnit } from './append-units.ts';

let test: TestFabric;
let ledger: FabricLedger;
let client: FabricClient;
let channels = 0;
const told: { result: UnitResult; unit: KnownUnit; isLate: boolean }[] = [];

beforeAll(async () => {
  test = await openTestFabric();
  // Stories about other things than time.
  const patient = { evaluate: 20_000, endorse: 20_000, submit: 10_000, commitStatus: 10_000, answer: 40_000 };
  ({ ledger, client } = test.openLedger(
    { onResult: (result, about) => void told.push({ result, ...about }) },
    { connection: test.connection({ deadlinesMs: patient }) },
  ));
}, 60_000);
afterEach(() => {
  test.peer.faults.clear();
  test.peer.orderer.release();
});
afterAll(() => test.close());

const newChannel = () => ({ network: 'acme', channel: `acme.c${(channels += 1)}` });
const claimOf = (claim: Buffer, fingerprint = 's1:a') => ({ claim, fingerprint, acceptable: [fingerprint] });
const unit = (place: { network: string; channel: string }, id: string, claim?: Buffer, fingerprint?: string) => ({
  ...place,
  note: '{"event":1}',
  records: [{ id, type: 'asset', owner: null, data: '{"n":1}', extra: null }],
  ...(claim === undefined ? {} : { claim: claimOf(claim, fingerprint) }),
});
const pending = () => test.peer.channel('main').pending();
const ENDORSEMENT_POLICY_FAILURE = 10;

describeLedger('fabric', { ledger: () => ledger, newChannel });

describe('claims on Fabric', () => {
  it('are released if their transaction had no effect', async () => {
    const [place, claim] = [newChannel(), randomBytes(32)];
    test.peer.faults.judge({ commit: ENDORSEMENT_POLICY_FAILURE });
    await expect(ledger.append(unit(place, 'a', claim))).rejects.toThrow(LedgerUnavailableError);
    expect(await ledger.append(unit(place, 'a', claim, 's1:other'))).toMatchObject({ outcome: 'written' });
  });

  it('are not taken by a unit that conflicts', async () => {
    const [place, claim] = [newChannel(), randomBytes(32)];
    await ledger.append(unit(place, 'a'));
    const other = { ...unit(place, 'a', claim), records: [{ ...unit(place, 'a').records[0]!, data: '{"n":2}' }] };
    expect(await ledger.append(other)).toEqual({ outcome: 'conflict', id: 'a' });
    expect(await ledger.append(unit(place, 'b', claim, 's1:other'))).toMatchObject({ outcome: 'written' });
  });

  it('are given to one of several processes, and replayed to the others', async () => {
    const [place, claim] = [newChannel(), randomBytes(32)];
    const others = [test.openLedger().ledger, test.openLedger().ledger];
    const results = await Promise.all(
      Array.from({ length: 9 }, (_, n) => [ledger, ...others][n % 3]!.append(unit(place, 'a', claim))),
    );
    expect(results.map(({ outcome }) => outcome).sort()).toEqual([...Array(8).fill('replayed'), 'written']);
    expect(new Set(results.map((result) => ('transactionId' in result ? result.transactionId : ''))).size).toBe(1);
  });

  it("take precedence over a conflict with the first request's record, even under a race", async () => {
    const [place, claim] = [newChannel(), randomBytes(32)];
    const { ledger: other } = test.openLedger();
    // The second looks up its claim before the first has taken it, and is endorsed after the first is in a block.
    const slow = test.peer.faults.inject('endorse', { delayMs: 600 }, { times: 1 });
    const records = [{ ...unit(place, 'a').records[0]!, data: '{"n":2}' }];
    const second = other.append({ ...unit(place, 'a', claim, 's1:other'), records });
    await until(() => slow.struck() === 1);
    expect(await ledger.append(unit(place, 'a', claim))).toMatchObject({ outcome: 'written' });
    expect(await second).toEqual({ outcome: 'reused' });
  });

  it('are refused to another request once the first is settled, and not while it may still have no effect', async () => {
    const [place, claim] = [newChannel(), randomBytes(32)];
    const elsewhere = test.openLedger().ledger;
    const other = unit(place, 'b', claim, 's1:other');
    test.peer.orderer.hold();
    const first = ledger.append(unit(place, 'a', claim));
    await until(() => pending() === 1);
    await expect(ledger.append(other)).rejects.toThrow(ClaimInFlightError);
    await expect(elsewhere.append(other)).rejects.toThrow(ClaimInFlightError);
    test.peer.orderer.release();
    expect(await first).toMatchObject({ outcome: 'written' });
    expect(await ledger.append(other)).toEqual({ outcome: 'reused' });
    expect(await elsewhere.append(other)).toEqual({ outcome: 'reused' });
  });

  it('are settled before they are answered, and unknown until they are settled', async () => {
    const [place, claim] = [newChannel(), randomBytes(32)];
    const hasty = test.openLedger({ answerWithinMs: 400 }).ledger;
    test.peer.orderer.hold();
    const first = await hasty.append(unit(place, 'a', claim)).catch((error: unknown) => error);
    expect(first).toBeInstanceOf(OutcomeUnknownError);
    await expect(hasty.append(unit(place, 'a', claim))).rejects.toEqual(first);
    test.peer.orderer.release();
    const { transactionId } = first as OutcomeUnknownError;
    expect(await ledger.append(unit(place, 'a', claim))).toMatchObject({ outcome: 'replayed', transactionId });
  });
});

describe('the ledger on Fabric', () => {
  it('proves a record by what peers sign of the contract and of the transaction that wrote it', async () => {
    const place = newChannel();
    const { transactionId } = (await ledger.append(unit(place, 'a'))) as { transactionId: string };
    const proved = (await ledger.prove(place.channel, 'a'))!;
    if (!isOnFabric(proved)) throw new Error('The proof is of a log.');
    const { receipt, proof } = proved;
    expect(receipt).toMatchObject({ ...place, id: 'a', type: 'asset', version: 1, transactionId });
    expect(proof).toMatchObject({
      v: 1,
      kind: 'fabric',
      channel: 'main',
      chaincode: 'records',
      statement: { transactionId },
    });
    for (const { responses } of [proof.view, proof.statement])
      expect(responses.map(({ mspId }) => mspId)).toEqual(['Org1MSP']);
  });

  it('has no proof of what is not there, and refuses one while too few peers answer', async () => {
    const { channel } = newChannel();
    for (const id of ['nobody', '', 'a\u0000']) expect(await ledger.prove(channel, id)).toBeUndefined();
    test.peer.faults.inject('endorse', { status: { code: 14, message: 'down' } });
    await expect(test.openLedger().ledger.prove(channel, 'nobody')).rejects.toThrow(LedgerUnavailableError);
  }, 30_000);

  it('reports late what the caller was not told', async () => {
    const place = newChannel();
    const late = told.filter(({ isLate }) => isLate).length;
    const impatient = test.openLedger({
      answerWithinMs: 300,
      onResult: (result, about) => void told.push({ result, ...about }),
    }).ledger;
    test.peer.orderer.hold();
    const event = {
      eventId: 'evt_1',
      units: 1,
      strippedFields: 0,
      keyId: 'key_1',
      requestId: 'req_1',
      types: ['asset'],
    };
    const error = await impatient.append({ ...unit(place, 'a'), event }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    test.peer.orderer.release();
    await until(() => told.filter(({ isLate }) => isLate).length === late + 1);
    const { transactionId } = error as OutcomeUnknownError;
    expect(told.at(-1)).toEqual({
      unit: { ...place, note: '{"event":1}', event },
      isLate: true,
      result: {
        outcome: 'written',
        transactionId,
        note: '{"event":1}',
        records: [{ id: 'a', channel: place.channel, transactionId, existing: false }],
      },
    });
  });

  it('reports again after a rejected report, and keeps the transaction open until then', async () => {
    const place = newChannel();
    let refusals = 2;
    const outcomes: string[] = [];
    const { ledger: watched, client: its } = test.openLedger({
      onResult: (result) => {
        outcomes.push(result.outcome);
        return refusals-- > 0 ? Promise.reject(new Error('The database is away.')) : undefined;
      },
    });
    const { transactionId } = (await watched.append(unit(place, 'a'))) as { transactionId: string };
    expect(await its.settle(transactionId)).toMatchObject({ status: 'unknown' });
    expect(await its.settle(transactionId, { waitMs: 5000 })).toMatchObject({ status: 'committed' });
    expect(outcomes).toEqual(['written', 'written', 'written']);
  });

  it('separates channels that share a Fabric channel', async () => {
    const [one, other] = [newChannel(), newChannel()];
    await ledger.append(unit(one, 'a'));
    expect(await ledger.read(other.channel, 'a')).toBeUndefined();
    expect(await ledger.append(unit(other, 'a'))).toMatchObject({ outcome: 'written' });
    const query = { type: 'asset', afterId: '', limit: 10 };
    expect(await ledger.query({ ...query, channel: one.channel })).toHaveLength(1);
  });

  it('leaves ids unchanged in a dedicated Fabric channel', async () => {
    const own = test.openLedger({ channels: [{ name: 'main', holds: ['acme.own'] }] }).ledger;
    const [id, place] = [randomUUID(), { network: 'acme', channel: 'acme.own' }];
    await own.append(unit(place, id));
    const read = { channel: 'main', chaincode: 'records', transaction: 'read', args: [id] };
    expect(JSON.parse((await client.evaluate(read)).toString())).toMatchObject({ id, type: 'asset' });
    expect(await own.read('acme.own', id)).toMatchObject({ id, network: 'acme' });
  });

  it('accepts ids and types of maximum length in a channel with the longest name', async () => {
    const network = 'n'.repeat(63);
    const channel = `${network}.${'c'.repeat(40)}`;
    const [id, type] = ['\u{10FFFF}'.repeat(256), 't'.repeat(128)];
    const records = [{ id, type, owner: null, data: '{}', extra: null }];
    expect(await ledger.append({ network, channel, note: '{}', records })).toMatchObject({ outcome: 'written' });
    expect(await ledger.read(channel, id)).toMatchObject({ id, type, network });
    expect(await ledger.query({ channel, type, afterId: '', limit: 5 })).toHaveLength(1);
  });

  it('finds no record under an invalid id or type', async () => {
    const { channel } = newChannel();
    for (const text of ['', 'x'.repeat(2000), 'a\u0000', '\u007f']) {
      expect(await ledger.read(channel, text)).toBeUndefined();
      expect(await ledger.query({ channel, type: text, afterId: '', limit: 5 })).toEqual([]);
    }
  });

  it("answers pages longer than the contract's limit", async () => {
    const place = newChannel();
    for (let from = 0; from < 1400; from += 100) {
      const records = Array.from({ length: 100 }, (_, n) => ({ ...unit(place, '').records[0]!, id: `r${from + n}` }));
      await ledger.append({ ...place, note: '{}', records });
    }
    const all = await ledger.query({ channel: place.channel, type: 'asset', afterId: '', limit: 1300 });
    expect(all).toHaveLength(1300);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).sort());
  }, 60_000);

  it('finds nothing in a channel that the connection does not hold, and writes nothing to it', async () => {
    const narrow = test.openLedger({ channels: [{ name: 'main', holds: ['acme.*'] }] }).ledger;
    const place = { network: 'other', channel: 'other.main' };
    await expect(narrow.append(unit(place, 'a'))).rejects.toThrow(LedgerUnavailableError);
    await expect(narrow.openChannel('other', 'other.main')).rejects.toThrow(LedgerUnavailableError);
    await narrow.openChannel('acme', 'acme.main');
    expect(await narrow.read('other.main', 'a')).toBeUndefined();
    expect(await narrow.prove('other.main', 'a')).toBeUndefined();
    expect(await narrow.query({ channel: 'other.main', type: 'asset', afterId: '', limit: 5 })).toEqual([]);
    expect(await narrow.findConflict(unit(place, 'a'))).toBeUndefined();
    expect(await narrow.audit('other.main')).toMatchObject({
      ok: false,
      problem: 'no Fabric channel holds other.main',
    });
  });

  it('rejects reads while the peer is away, instead of answering "absent"', async () => {
    await test.peer.stop();
    await expect(ledger.read('acme.main', 'a')).rejects.toThrow(LedgerUnavailableError);
    await expect(ledger.append(unit(newChannel(), 'a'))).rejects.toThrow(LedgerUnavailableError);
    await test.peer.start();
    await until(async () => (await ledger.health()).ok, { timeoutMs: 10_000 });
  }, 30_000);

  it('drains running units', async () => {
    test.peer.orderer.hold();
    const units = [ledger.append(unit(newChannel(), 'a')), ledger.append(unit(newChannel(), 'a', randomBytes(32)))];
    await until(() => pending() === 2);
    expect(ledger.depth).toBe(2);
    let drained = false;
    const drain = ledger.drain().then(() => (drained = true));
    expect(drained).toBe(false);
    test.peer.orderer.release();
    await drain;
    expect(ledger.depth).toBe(0);
    await Promise.all(units);
  });

  it('audits the content of every record', async () => {
    const place = newChannel();
    await ledger.append({ ...place, note: '{}', records: ['a', 'b'].map((id) => unit(place, id).records[0]!) });
    await ledger.append({ ...place, note: '{}', records: [{ ...unit(place, 'c').records[0]!, type: 'other' }] });
    expect(await ledger.audit(place.channel)).toEqual({ ok: true, size: 3, firstBadRecordId: null, problem: null });
  });
});
