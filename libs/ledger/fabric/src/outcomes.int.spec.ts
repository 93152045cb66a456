import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { FabricClient } from './fabric-client.ts';
import {
  ContractRefusedError,
  InvalidatedError,
  MisconfiguredError,
  OverloadedError,
  UnavailableError,
  UnknownOutcomeError,
} from './fabric-errors.ts';
import { caught, read, recordOf, write } from './testing/contract-calls.ts';
import { openTestFabric, type TestFabric } from './testing/open-test-fabric.ts';

/** Validation codes (fabric-protos, TxValidationCode). */
const VALID = 0;
const DUPLICATE_TXID = 9;
const ENDORSEMENT_POLICY_FAILURE = 10;
const MVCC_READ_CONFLICT = 11;
const UNAVAILABLE = 14;
const DEADLINE_EXCEEDED = 4;
/** Not the deadline of the connection: a busy machine is not an overload. */
const PATIENT_MS = 40_000;

let test: TestFabric;
let client: FabricClient;
const problems: string[] = [];

beforeAll(async () => {
  test = await openTestFabric({ absoluteMaxBytes: 200_000 });
  client = test.open({ observer: { problem: (what, detail) => void problems.push(`${what} ${detail}`) } });
  // From now on the block stream has a position.
  await client.submit(write(randomUUID()));
}, 60_000);
afterEach(() => {
  test.peer.faults.clear();
  test.peer.orderer.start();
  test.peer.orderer.release();
  test.peer.blockStreams.release();
});
afterAll(() => test.close());

const codesOf = (transactionId: string) =>
  test.peer
    .channel('main')
    .transactions()
    .filter((transaction) => transaction.transactionId === transactionId)
    .map(({ code }) => code);
const isWritten = async (id: string) => (await client.evaluate(read(id))).length > 0;

describe('a call that is refused or cannot be made', () => {
  it("passes on the contract's message", async () => {
    const id = randomUUID();
    await client.submit(write(id));
    const message = `RECORD_CONFLICT:{"id":"${id}"}`;
    expect(await caught(client.submit(write(id, 2)))).toEqual(new ContractRefusedError(message));
    expect(await caught(client.evaluate(write(id, 2)))).toEqual(new ContractRefusedError(message));
  });

  it('is unavailable while the chaincode is down, and works when it is back', async () => {
    const id = randomUUID();
    problems.length = 0;
    await test.peer.chaincode.kill('records');
    expect(await caught(client.evaluate(read(id)))).toBeInstanceOf(UnavailableError);
    expect(await caught(client.submit(write(id)))).toBeInstanceOf(UnavailableError);
    // Both within the same minute.
    const place = `${test.peer.url} main/records as default`;
    expect(problems).toEqual([expect.stringContaining(`contract_away ${place}: `)]);
    await test.peer.chaincode.start('records');
    expect(await isWritten(id)).toBe(false);
    expect(await client.submit(write(id))).toMatchObject({ transactionId: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it('is misconfigured for an unknown chaincode', async () => {
    expect(await caught(client.evaluate({ ...read('a'), chaincode: 'none' }))).toBeInstanceOf(MisconfiguredError);
    expect(await caught(client.submit({ ...write('a'), chaincode: 'none' }))).toBeInstanceOf(MisconfiguredError);
  });

  it('is misconfigured for an unknown channel', async () => {
    const channels = [{ name: 'main' }, { name: 'none' }];
    const other = test.open({ connection: test.connection({ channels }) });
    const asked = await caught(other.evaluate({ ...read('a'), channel: 'none' }));
    expect(asked).toHaveProperty('reason', 'channel_missing');
    expect(await caught(other.submit({ ...write('a'), channel: 'none' }))).toBeInstanceOf(MisconfiguredError);
  });

  it('is misconfigured for a channel that the connection does not have, and no peer is asked', async () => {
    const message = 'The connection has no channel none.';
    expect(await caught(client.evaluate({ ...read('a'), channel: 'none' }))).toEqual(new MisconfiguredError(message));
    expect(await caught(client.submit({ ...write('a'), channel: 'none' }))).toEqual(new MisconfiguredError(message));
  });

  it('is misconfigured for an organisation unknown to the channel', async () => {
    const { mspId, certFile, keyFile } = test.peer.enroll('stranger', 'StrangerMSP');
    const stranger = test.open({ connection: test.connection({ mspId, certFile, keyFile }) });
    expect(await caught(stranger.evaluate(read('a')))).toBeInstanceOf(MisconfiguredError);
    expect(await caught(stranger.submit(write('a')))).toBeInstanceOf(MisconfiguredError);
    expect(await stranger.health([read('a')])).toHaveProperty('contracts.0.reason', 'identity_refused');
  });

  it('is misconfigured if the orderer rejects an envelope of that size', async () => {
    const id = randomUUID();
    const large = { ...recordOf(id), data: JSON.stringify({ text: 'x'.repeat(150_000) }) };
    expect(await caught(client.submit({ ...write(id), args: [JSON.stringify([large])] }))).toBeInstanceOf(
      MisconfiguredError,
    );
    expect(problems.at(-1)).toMatch(/^misconfigured the orderer of main\/records: /);
    expect(await isWritten(id)).toBe(false);
    expect(client.state().unsettled).toBe(0);
  });

  it('is misconfigured if the arguments exceed the limit of a call', async () => {
    const args = ['x'.repeat(5 * 1024 * 1024)];
    expect(await caught(client.submit({ ...write('a'), args }))).toBeInstanceOf(MisconfiguredError);
  });

  it('is unavailable at once while the peer is down, and works when it is back', async () => {
    const id = randomUUID();
    await test.peer.stop();
    const startedAt = performance.now();
    expect(await caught(client.submit(write(id)))).toBeInstanceOf(UnavailableError);
    expect(await caught(client.evaluate(read(id)))).toBeInstanceOf(UnavailableError);
    expect(performance.now() - startedAt).toBeLessThan(4000);
    expect(await client.health([read('a')])).toMatchObject({
      ok: false,
      contracts: [{ reason: 'connection_refused' }],
    });
    await test.peer.start();
    await until(async () => (await client.health([read('a')])).ok, { timeoutMs: 10_000 });
    await client.submit(write(id));
    expect(await isWritten(id)).toBe(true);
  }, 20_000);

  it.each([['evaluate'], ['endorse']] as const)('is unavailable if %s does not answer in time', async (kind) => {
    test.peer.faults.inject(kind, { drop: 'before' });
    const asked =
      kind === 'evaluate' ? client.evaluate(read('a')) : client.submit(write(randomUUID()), { answerWithinMs: 700 });
    expect(await caught(asked)).toBeInstanceOf(UnavailableError);
  });

  it('is retried with a new proposal if an endorser failed', async () => {
    const id = randomUUID();
    const fault = test.peer.faults.inject(
      'endorse',
      { status: { code: 10, message: 'failed to collect enough' } },
      { times: 2 },
    );
    await client.submit(write(id));
    expect(fault.struck()).toBe(2);
    expect(await isWritten(id)).toBe(true);
  });
});

describe('overload', () => {
  it('shrinks the window, and everything is written', async () => {
    const message = 'too many requests for /gateway.Gateway, exceeding concurrency limit (500)';
    test.peer.faults.inject('endorse', { status: { code: 2, message } }, { times: 30 });
    const before = client.state().window;
    const ids = Array.from({ length: 40 }, () => randomUUID());
    await Promise.all(ids.map((id) => client.submit(write(id), { answerWithinMs: PATIENT_MS })));
    expect(client.state().window).toBeLessThan(before);
    expect(await isWritten(ids[39]!)).toBe(true);
  });

  it('is reported if the queue is full, and if it does not end in time', async () => {
    const narrow = test.open({ connection: test.connection({ limits: { window: 1, queue: 2 } }) });
    test.peer.faults.inject('endorse', { delayMs: 200 });
    const submit = () => caught(narrow.submit(write(randomUUID()), { answerWithinMs: PATIENT_MS }));
    const results = await Promise.all(Array.from({ length: 5 }, submit));
    expect(results.filter((result) => result instanceof OverloadedError)).toHaveLength(2);
    expect(results.filter((result) => result === undefined)).toHaveLength(3);
    test.peer.faults.clear();
    test.peer.faults.inject('endorse', { status: { code: 8, message: 'too many requests for /gateway.Gateway' } });
    const late = client.submit(write(randomUUID()), { answerWithinMs: 300 });
    expect(await caught(late)).toBeInstanceOf(OverloadedError);
  });

  it('is reported if the limit of unsettled transactions is reached', async () => {
    const narrow = test.open({ connection: test.connection({ limits: { unsettled: 1 } }) });
    test.peer.orderer.hold();
    const first = narrow.submit(write(randomUUID()));
    await until(() => narrow.state().unsettled === 1);
    expect(await caught(narrow.submit(write(randomUUID())))).toBeInstanceOf(OverloadedError);
    test.peer.orderer.release();
    await first;
  });
});

describe('a Submit with an unknown outcome', () => {
  it.each([
    ['was lost on its way', { drop: 'before' as const }],
    ['arrived, and the answer was lost', { drop: 'after' as const }],
    [
      'was ordered, although the peer answered DEADLINE',
      { statusAfter: { code: DEADLINE_EXCEEDED, message: 'timeout' } },
    ],
    ['was refused for lack of an orderer', { status: { code: UNAVAILABLE, message: 'no orderer nodes available' } }],
    ['was cancelled', { status: { code: 1, message: 'cancelled' } }],
  ])('is settled: it %s', async (_, fault) => {
    const id = randomUUID();
    test.peer.faults.inject('submit', fault, { times: 1 });
    const { transactionId } = await client.submit(write(id));
    expect(codesOf(transactionId).filter((code) => code === VALID)).toHaveLength(1);
    expect(await isWritten(id)).toBe(true);
  });

  it('is committed once, even if the envelope was ordered twice', async () => {
    test.peer.faults.inject('submit', { statusAfter: { code: UNAVAILABLE, message: 'gone' } }, { times: 1 });
    test.peer.orderer.hold();
    const id = randomUUID();
    const submitted = client.submit(write(id));
    await until(() => test.peer.channel('main').pending() === 2);
    test.peer.orderer.release();
    const { transactionId } = await submitted;
    await until(() => codesOf(transactionId).length === 2);
    expect(codesOf(transactionId)).toEqual([VALID, DUPLICATE_TXID]);
  });

  it('is unknown while there is no orderer, and settled when there is', async () => {
    const id = randomUUID();
    test.peer.orderer.stop();
    const error = await caught(client.submit(write(id), { answerWithinMs: 500 }));
    expect(error).toBeInstanceOf(UnknownOutcomeError);
    const { transactionId } = error as UnknownOutcomeError;
    expect(await client.settle(transactionId)).toEqual({ status: 'unknown', transactionId });
    test.peer.orderer.start();
    expect(await client.settle(transactionId, { waitMs: 10_000 })).toMatchObject({
      status: 'committed',
      transactionId,
    });
    expect(codesOf(transactionId)).toContain(VALID);
    await until(() => client.settle(transactionId).then((settlement) => settlement?.status === 'committed'));
  });

  it('is unknown for a caller who leaves, and settled afterwards', async () => {
    const leaving = new AbortController();
    test.peer.orderer.hold();
    const submitted = caught(client.submit(write(randomUUID()), { signal: leaving.signal }));
    await until(() => test.peer.channel('main').pending() === 1);
    leaving.abort();
    const error = await submitted;
    expect(error).toBeInstanceOf(UnknownOutcomeError);
    test.peer.orderer.release();
    const { transactionId } = error as UnknownOutcomeError;
    expect(await client.settle(transactionId, { waitMs: 5000 })).toMatchObject({ status: 'committed' });
  });

  it('survives a peer that dies before the block arrives', async () => {
    test.peer.orderer.hold();
    const submitted = client.submit(write(randomUUID()));
    await until(() => test.peer.channel('main').pending() === 1);
    await test.peer.stop();
    test.peer.orderer.release();
    await test.peer.start();
    const { transactionId } = await submitted;
    expect(codesOf(transactionId)).toContain(VALID);
  });

  it('repeats status requests while the stream is silent', async () => {
    test.peer.blockStreams.hold();
    test.peer.faults.inject('commitStatus', { status: { code: UNAVAILABLE, message: 'gone' } }, { times: 1 });
    const { transactionId, blockNumber } = await client.submit(write(randomUUID()), { answerWithinMs: 15_000 });
    expect(codesOf(transactionId)).toContain(VALID);
    expect(blockNumber).toBeGreaterThan(0);
  }, 20_000);

  it("trusts the block over a peer's contradicting status", async () => {
    test.peer.faults.judge({ commitStatus: ENDORSEMENT_POLICY_FAILURE });
    const { transactionId } = await client.submit(write(randomUUID()));
    expect(codesOf(transactionId)).toEqual([VALID]);
  });
});

describe('an invalidated transaction', () => {
  it('is followed by a new one after a conflict', async () => {
    const id = randomUUID();
    test.peer.faults.judge({ commit: MVCC_READ_CONFLICT });
    const height = test.peer.channel('main').transactions().length;
    const { transactionId } = await client.submit(write(id), { reference: `${id}:1` });
    const after = test.peer.channel('main').transactions().slice(height);
    expect(after.map(({ code }) => code)).toEqual([MVCC_READ_CONFLICT, VALID]);
    expect(after[1]!.transactionId).toBe(transactionId);
    const found = () => client.findGroup(id);
    await until(async () => (await found()).every(({ settlement }) => settlement.status !== 'unknown'));
    expect(await found()).toEqual([
      { settlement: expect.objectContaining({ status: 'committed', transactionId }), note: undefined },
    ]);
  });

  it('is reported if conflicts do not end', async () => {
    const stubborn = test.open({ connection: test.connection({ limits: { conflictAttempts: 3 } }) });
    const fault = test.peer.faults.judge({ commit: MVCC_READ_CONFLICT, times: 10 });
    const error = await caught(stubborn.submit(write(randomUUID())));
    expect(error).toBeInstanceOf(InvalidatedError);
    expect(error).toMatchObject({ code: 'MVCC_READ_CONFLICT' });
    expect(fault.struck()).toBe(3);
  });

  it('is reported at once for any other reason', async () => {
    const id = randomUUID();
    test.peer.faults.judge({ commit: ENDORSEMENT_POLICY_FAILURE });
    expect(await caught(client.submit(write(id)))).toMatchObject({
      name: 'InvalidatedError',
      code: 'ENDORSEMENT_POLICY_FAILURE',
    });
    expect(await isWritten(id)).toBe(false);
  });
});
