import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { scriptedLedger, type Script } from '../testing/scripted-ledger.ts';
import type { AssetResult } from './asset-result.ts';
import type { RunningJobs } from './jobs.ts';
import { Mappings, type Target } from './mapping.ts';
import { abandonedResult, runJob } from './run-job.ts';

const target = (more: Partial<Target> = {}): Target => ({
  channel: 'acme.main',
  network: 'acme',
  chaincode: 'records',
  contract: undefined,
  transactions: { write: 'w', read: 'r', query: 'q' },
  shape: { kind: 'records' },
  write: 'create',
  ...more,
});

const body = (ids: readonly string[], options: object = {}) =>
  JSON.stringify({ assets: ids.map((id) => ({ id, type: 'a', data: {} })), options });

async function run(
  job: { ids: readonly string[]; options?: object; results?: (AssetResult | undefined)[] },
  { script = {}, to = target() }: { script?: Script; to?: Target } = {},
) {
  const saved: (readonly (AssetResult | undefined)[])[] = [];
  const finished: string[] = [];
  const jobs: RunningJobs = {
    saveResults: async (_jobId, results) => void saved.push([...results]),
    finish: async (_jobId, result) => void finished.push(result),
  };
  const ledger = scriptedLedger(script);
  const ports = {
    ledger,
    jobs,
    mappings: new Mappings([{ type: 'a', target: to }]),
    batchMaxBytes: 1e6,
    batchesAtOnce: 2,
  };
  const { ids, options, results = [] } = job;
  const isDone = await runJob(ports, { jobId: 'job_1', body: body(ids, options), results }, () => true);
  return { ledger, saved, isDone, result: finished.map((text) => JSON.parse(text) as unknown)[0] };
}

const succeeded: AssetResult = {
  state: 'succeeded',
  transaction: { transactionId: 't0', blockNumber: 1, channel: 'acme.main', chaincode: 'records' },
};
const pending: AssetResult = { state: 'pending', transactionId: 'tx' };

describe('running a job', () => {
  it('sends only assets without a result', async () => {
    const { ledger, isDone, result } = await run({ ids: ['a', 'b', 'c'], results: [succeeded, undefined, undefined] });
    expect(ledger.writes).toEqual([['b', 'c']]);
    expect(isDone).toBe(true);
    expect(result).toMatchObject({ summary: { total: 3, succeeded: 3 }, succeeded: ['a', 'b', 'c'] });
  });

  it('settles unknown outcomes by transaction, before it sends anything', async () => {
    const results: AssetResult[] = [pending, pending, { state: 'pending', transactionId: 'other' }];
    const settle: Script['settle'] = (transactionId, ids) =>
      transactionId === 'tx'
        ? { outcome: 'committed', transactions: [{ transactionId, blockNumber: 4, assetIds: [...ids] }] }
        : { outcome: 'again' };
    const { ledger, result } = await run({ ids: ['a', 'b', 'c'], results }, { script: { settle } });
    expect(ledger.settled).toEqual(['tx', 'other']);
    expect(ledger.writes).toEqual([['c']]);
    expect(result).toMatchObject({
      transactions: [{ transactionId: 'tx', blockNumber: 4, assetIds: ['a', 'b'] }, { assetIds: ['c'] }],
    });
  });

  it.each(['unknown', 'unavailable', 'halted'] as const)('is not done while it is %s', async (outcome) => {
    const settle: Script['settle'] = () => ({ outcome, transactionId: 'tx', message: 'Halted.' });
    const { isDone, saved, ledger } = await run({ ids: ['a'], results: [pending] }, { script: { settle } });
    expect(isDone).toBe(false);
    expect(saved.at(-1)).toEqual([pending]);
    expect(ledger.writes).toEqual([]);
  });

  it('stores each batch if the contract cannot detect a repeated write', async () => {
    const options = { batchSize: 1 };
    const upsert = await run({ ids: ['a', 'b'], options }, { to: target({ write: 'upsert' }) });
    expect(upsert.saved.map((results) => results.filter((one) => one !== undefined).length)).toEqual([1, 2]);
    const create = await run({ ids: ['a', 'b'], options });
    expect(create.saved).toEqual([]);
  });

  it('keeps results that were reported as not attempted', async () => {
    const notAttempted: AssetResult = { state: 'failed', code: 'NOT_ATTEMPTED', message: 'm', retryable: true };
    const { ledger, result } = await run({ ids: ['a', 'b'], results: [pending, notAttempted] });
    expect(ledger.writes).toEqual([['a']]);
    expect(result).toMatchObject({ succeeded: ['a'], failed: [{ id: 'b', code: 'NOT_ATTEMPTED' }] });
  });

  it('sends nothing while it cannot be asked what earlier runs have sent, and reports nothing as not written', async () => {
    const script = {
      recall: () => {
        throw new LedgerUnavailableError('The journal is locked.');
      },
    };
    const { ledger, isDone, saved } = await run({ ids: ['a', 'b'] }, { script });
    expect(isDone).toBe(false);
    expect(ledger.writes).toEqual([]);
    expect(saved).toEqual([[undefined, undefined]]);
  });

  it('takes what an earlier run has sent in other parts as it is, and sends the rest', async () => {
    const script = { recall: () => new Map([['b', succeeded]]) };
    const { ledger, result } = await run({ ids: ['a', 'b', 'c'] }, { script });
    expect(ledger.writes).toEqual([['a', 'c']]);
    expect(result).toMatchObject({ summary: { total: 3, succeeded: 3 } });
  });

  it('counts an asset as written that its committed transaction does not name', async () => {
    const settle: Script['settle'] = (transactionId) => ({
      outcome: 'committed',
      transactions: [{ transactionId, blockNumber: 4, assetIds: [] }],
    });
    const { ledger, result } = await run({ ids: ['a'], results: [pending] }, { script: { settle } });
    expect(ledger.writes).toEqual([]);
    expect(result).toMatchObject({ succeeded: ['a'], transactionIds: ['tx'] });
  });

  it('that is given up reports what has no result as unknown, never as not attempted', () => {
    const text = abandonedResult({ jobId: 'j', body: body(['a', 'b']), results: [succeeded] });
    expect(JSON.parse(text)).toMatchObject({ succeeded: ['a'], failed: [{ id: 'b', code: 'OUTCOME_UNKNOWN' }] });
  });
});
