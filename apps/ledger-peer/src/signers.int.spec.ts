import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { writeOf } from './testing/open-test-peer.ts';
import { peerSuite } from './testing/peer-suite.ts';

const suite = peerSuite();
const { peerWith } = suite;

const callerAs = (identity: string) => ({ familyId: 'family', bucket: 'b', limit: 'calls' as const, identity });
const keptIdentities = async () =>
  (await suite.database.sql.query<{ identity: string | null }>({ text: 'SELECT identity FROM peer.jobs' })).map(
    ({ identity }) => identity,
  );
const endLeases = () =>
  suite.database.sql.query({ text: `UPDATE peer.jobs SET lease_until = now() - interval '1 s', not_before = NULL` });

describe('a write', () => {
  it('is signed as the identity of its caller, batches of one request alike', async () => {
    const { answer, ledger } = peerWith();
    await answer(writeOf(['a', 'b'], { caller: callerAs('clerk'), options: { batchSize: 1 } }));
    await answer(writeOf(['c'], { caller: callerAs('approver'), key: 'k' }));
    await answer(writeOf(['d']));
    expect(ledger.signers).toEqual(['clerk', 'clerk', 'approver', undefined]);
    expect(await keptIdentities()).toEqual(['approver']);
  });

  it('for later is signed as the identity of its caller, by whichever process runs it', async () => {
    const idle = peerWith({}, { runsJobs: false });
    const { jobId } = await idle.answer(writeOf(['a'], { caller: callerAs('approver'), prefersAsync: true }));
    const { ledger, jobs } = peerWith();
    await until(async () => (await jobs.find(jobId, 'family'))?.status === 'done');
    expect(ledger.signers).toEqual(['approver']);
    expect(await keptIdentities()).toEqual(['approver']);
  });

  it('with an unknown outcome is sent again as the identity of the first transaction', async () => {
    let sent = 0;
    const { answer, jobs, ledger } = peerWith({
      write: () => ((sent += 1) === 1 ? { outcome: 'unknown', transactionId: 'tx' } : undefined),
    });
    const { status, jobId } = await answer(writeOf(['a'], { caller: callerAs('approver') }));
    expect(status).toBe(202);
    await until(async () => (await jobs.find(jobId, 'family'))?.status === 'done');
    expect(ledger.signers).toEqual(['approver', 'approver']);
  });
});

describe('a request with an Idempotency-Key of a process that died', () => {
  const request = (identity: string, prefersAsync = false) =>
    writeOf(['a'], { caller: callerAs(identity), key: 'k', prefersAsync });

  async function abandoned(): Promise<void> {
    const hanging = peerWith({ write: () => new Promise<never>(() => undefined) as never });
    void hanging.answer(request('approver'));
    await until(() => hanging.ledger.writes.length === 1);
    hanging.crash();
    await endLeases();
  }

  it('is continued as its identity, also if the caller has another one now', async () => {
    await abandoned();
    const next = peerWith();
    expect(await next.answer(request('clerk'))).toMatchObject({ status: 200, replayed: false });
    expect(next.ledger.signers).toEqual(['approver']);
    expect(await next.answer(request('clerk'))).toMatchObject({ status: 200, replayed: true });
  });

  it('becomes a job of its identity, if it is still unknown', async () => {
    await abandoned();
    let isLost = true;
    const next = peerWith({ write: () => (isLost ? { outcome: 'unknown', transactionId: 'tx' } : undefined) });
    const { jobId } = await next.answer(request('clerk'));
    expect(await keptIdentities()).toEqual(['approver']);
    isLost = false;
    await until(async () => (await next.jobs.find(jobId, 'family'))?.status === 'done');
    expect(new Set(next.ledger.signers)).toEqual(new Set(['approver']));
  });

  it('is neither sent as another nor reported as not written while its identity is gone', async () => {
    await abandoned();
    let isGone = true;
    const next = peerWith({ write: () => (isGone ? { outcome: 'unavailable' } : undefined) });
    await expect(next.answer(request('clerk'))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    isGone = false;
    expect(await next.answer(request('clerk'))).toMatchObject({ status: 200 });
    expect(new Set(next.ledger.signers)).toEqual(new Set(['approver']));
  });
});
