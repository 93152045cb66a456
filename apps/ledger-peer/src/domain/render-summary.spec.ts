import { describe, expect, it } from '@jest/globals';
import { failed, type AssetResult } from './asset-result.ts';
import { renderSummary } from './render-summary.ts';

const transaction = (transactionId: string, blockNumber: number | null = 7) => ({
  transactionId,
  channel: 'acme.main',
  chaincode: 'records',
  blockNumber,
});
const succeeded = (transactionId: string, blockNumber?: number | null): AssetResult => ({
  state: 'succeeded',
  transaction: transaction(transactionId, blockNumber),
});

describe('the response of a write', () => {
  it('lists each asset once, in the order of the request, and each transaction with its assets', () => {
    const ids = ['a"', 'b', 'c', 'a"', 'd', 'e'];
    const results: AssetResult[] = [
      succeeded('t1'),
      { state: 'pending', transactionId: 't3' },
      failed('RECORD_CONFLICT', 'Says "no".', false),
      succeeded('t1'),
      succeeded('t2', null),
      succeeded('t1'),
    ];
    const text = renderSummary(ids, results, 'job_1');
    const answer: unknown = JSON.parse(text);
    expect(answer).toEqual({
      summary: { total: 6, succeeded: 4, failed: 1, pending: 1 },
      succeeded: ['a"', 'a"', 'd', 'e'],
      failed: [{ id: 'c', index: 2, code: 'RECORD_CONFLICT', message: 'Says "no".', retryable: false }],
      pending: [{ id: 'b', index: 1, transactionId: 't3' }],
      transactionIds: ['t1', 't2'],
      transactions: [
        { transactionId: 't1', channel: 'acme.main', chaincode: 'records', blockNumber: 7, assetIds: ['a"', 'e'] },
        { transactionId: 't2', channel: 'acme.main', chaincode: 'records', blockNumber: null, assetIds: ['d'] },
      ],
      jobId: 'job_1',
    });
    // Rendered by hand, and equal to JSON.stringify.
    expect(text).toBe(JSON.stringify(answer));
  });

  it('lists what contracts returned once for each asset, and what they said', () => {
    const one: AssetResult = {
      ...(succeeded('t1') as object),
      returned: { json: '{"a":1}', truncated: false },
    } as AssetResult;
    const long: AssetResult = {
      ...(succeeded('t2') as object),
      returned: { json: '"x"', truncated: true },
    } as AssetResult;
    const refused: AssetResult = {
      ...(failed('INVALID_REQUEST', 'No.', false) as object),
      contractMessage: 'n"o',
    } as AssetResult;
    const text = renderSummary(['a"', 'b', 'a"', 'c', 'd'], [one, long, one, refused, succeeded('t1')]);
    expect(JSON.parse(text)).toMatchObject({
      failed: [
        { id: 'c', index: 3, code: 'INVALID_REQUEST', message: 'No.', retryable: false, contractMessage: 'n"o' },
      ],
      results: [
        { id: 'a"', result: { a: 1 } },
        { id: 'b', result: 'x', truncated: true },
      ],
    });
    expect(text).toBe(JSON.stringify(JSON.parse(text)));
  });

  it('has no jobId if nothing is pending', () => {
    expect(JSON.parse(renderSummary([], []))).toEqual({
      summary: { total: 0, succeeded: 0, failed: 0, pending: 0 },
      succeeded: [],
      failed: [],
      pending: [],
      transactionIds: [],
      transactions: [],
    });
  });
});
