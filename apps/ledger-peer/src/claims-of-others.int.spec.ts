import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { until } from '@sealgate/testing';
import type { SyncAnswer, SyncRequest } from './domain/answer-sync.ts';
import type { AssetResult } from './domain/asset-result.ts';
import { testPeer, writeOf, type TestPeer } from './testing/open-test-peer.ts';
import { peerSuite } from './testing/peer-suite.ts';
import { scriptedLedger, type Script } from './testing/scripted-ledger.ts';

const suite = peerSuite();
const { peerWith, rows } = suite;

const summaryOf = ({ body }: SyncAnswer) => (JSON.parse(body) as { summary: object }).summary;

const earlier: AssetResult = {
  state: 'succeeded',
  transaction: { transactionId: 'sent-before', blockNumber: 3, channel: 'acme.main', chaincode: 'records' },
};
const unknown = (transactionId: string) => ({ outcome: 'unknown', transactionId }) as const;

/** A process that has taken the claim, and died while its write was under way. */
async function deadHolder(key: string, ids: readonly string[]): Promise<void> {
  const ledger = { ...scriptedLedger(), write: () => new Promise<never>(() => undefined) };
  const dead = testPeer({ sql: suite.database.sql, ledger, owner: 'dead', leaseMs: 300 });
  void dead.answer(writeOf(ids, { key, options: { batchSize: 1 } }));
  await until(async () => (await rows()).length > 0);
  dead.crash();
}

/** Asks until the lease of the dead process has ended. */
async function takenOver(peer: Pick<TestPeer, 'answer'>, request: SyncRequest): Promise<SyncAnswer> {
  for (;;) {
    try {
      return await peer.answer(request);
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'IDEMPOTENCY_IN_PROGRESS') throw error;
    }
  }
}

describe('a claim under which something may have been sent', () => {
  it.each([
    ['cannot ask what was sent', () => undefined, true],
    ['finds nothing sent, and cannot send', () => ({ outcome: 'unavailable' }) as const, false],
    ['finds nothing sent, and is overloaded', () => ({ outcome: 'overloaded' }) as const, false],
    [
      'finds nothing sent, and the channel is halted',
      () => ({ outcome: 'halted', message: 'Halted.' }) as const,
      false,
    ],
  ])('made by a process that died stays, as OUTCOME_UNKNOWN, while the next one %s', async (_when, write, isMute) => {
    await deadHolder('k', ['a', 'b']);
    let isOut = true;
    const recall = () => {
      if (isOut && isMute) throw new LedgerUnavailableError('The journal is locked.');
      return isOut ? new Map() : new Map([['a', earlier]]);
    };
    const alive = peerWith({ recall, write: () => (isOut ? write() : undefined) }, { leaseMs: 300 });
    const request = writeOf(['a', 'b'], { key: 'k', options: { batchSize: 1 } });
    const [made] = await rows();
    for (let time = 0; time < 3; time += 1)
      await expect(takenOver(alive, request)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', retryAfterSeconds: 1 });
    expect(await rows()).toEqual([made]);
    // For another body the key is in use, since something may be written under it.
    await expect(takenOver(alive, writeOf(['c'], { key: 'k' }))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    });
    isOut = false;
    const given = await alive.answer(request);
    expect(JSON.parse(given.body)).toMatchObject({
      succeeded: ['a', 'b'],
      transactionIds: ['sent-before', expect.any(String)],
    });
  });

  it('made by a process that died never stores "not attempted" for what that one may have sent', async () => {
    await deadHolder('k', ['a', 'b', 'c']);
    let calls = 0;
    const write: Script['write'] = () => ((calls += 1) === 2 ? { outcome: 'unavailable' } : undefined);
    const alive = peerWith({ write }, { leaseMs: 300 });
    const request = writeOf(['a', 'b', 'c'], { key: 'k', options: { batchSize: 1 } });
    await expect(takenOver(alive, request)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(summaryOf(await alive.answer(request))).toEqual({ total: 3, succeeded: 3, failed: 0, pending: 0 });
  });

  it('becomes a job while something that a dead process sent is pending, and sends nothing after it', async () => {
    await deadHolder('k', ['a']);
    const alive = peerWith(
      { recall: () => new Map([['a', { state: 'pending', transactionId: 't9' } as const]]), settle: unknown },
      { leaseMs: 300, runsJobs: false },
    );
    const given = await takenOver(alive, writeOf(['a'], { key: 'k', options: { batchSize: 1 } }));
    expect(given).toMatchObject({ status: 202, replayed: false });
    expect(JSON.parse(given.body)).toMatchObject({ pending: [{ id: 'a', transactionId: 't9' }] });
    expect(alive.ledger.writes).toEqual([]);
  });

  it('stays if its write ends in an unexpected way: something may have been sent', async () => {
    let isBroken = true;
    const write: Script['write'] = () => {
      if (isBroken) throw new TypeError('A bug.');
      return undefined;
    };
    const recalled: string[] = [];
    const peer = peerWith({ write, recall: (jobId) => (recalled.push(jobId), new Map()) });
    await expect(peer.answer(writeOf(['a'], { key: 'k' }))).rejects.toThrow(TypeError);
    const [made] = (await rows()) as { job_id: string }[];
    isBroken = false;
    expect(await peer.answer(writeOf(['a'], { key: 'k' }))).toMatchObject({ status: 200 });
    expect(recalled).toEqual([made?.job_id]);
  });

  it('stays if another process works under it and it cannot be asked what that one has sent', async () => {
    const write: Script['write'] = () => ({ outcome: 'unsure' });
    const peer = peerWith({ write });
    await expect(peer.answer(writeOf(['a'], { key: 'k' }))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(await rows()).toHaveLength(1);
  });
});
