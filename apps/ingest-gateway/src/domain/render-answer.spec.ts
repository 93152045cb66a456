import { describe, expect, it } from '@jest/globals';
import { renderAnswer, renderPing } from './answer-write.ts';

describe('the answer of a write', () => {
  it('equals the output of JSON.stringify, in the documented order', () => {
    const receipt = {
      id: 'a"\\é',
      transactionId: 'aa',
      channel: 'acme.main',
      index: 0,
      leafHash: 'ff',
      existing: true,
    };
    const { leafHash, existing, ...place } = receipt;
    const declared = { ...place, epoch: 1, leafHash, existing };
    const text = renderAnswer({
      eventId: 'evt_1',
      transactionIds: ['aa', 'bb'],
      recordCount: 2,
      records: [receipt, { ...receipt, id: 'b', existing: false }, declared],
      strippedFields: 3,
      replayed: false,
    });
    expect(text).toBe(
      JSON.stringify({
        transactionIds: ['aa', 'bb'],
        summary: { total: 2, succeeded: 2, failed: 0 },
        eventId: 'evt_1',
        records: [receipt, { id: 'b', transactionId: 'aa', channel: 'acme.main', index: 0, leafHash: 'ff' }, declared],
        strippedFields: 3,
      }),
    );
  });

  it('omits index and leaf hash where the ledger has none', () => {
    const records = [{ id: 'a', transactionId: 'aa', channel: 'acme.main', existing: false }];
    const text = renderAnswer({
      eventId: 'e',
      transactionIds: ['aa'],
      recordCount: 1,
      records,
      strippedFields: 0,
      replayed: false,
    });
    expect(JSON.parse(text).records).toEqual([{ id: 'a', transactionId: 'aa', channel: 'acme.main' }]);
  });

  it('of a ping contains no records', () => {
    expect(JSON.parse(renderPing('evt_1'))).toEqual({
      ping: true,
      transactionIds: [],
      summary: { total: 0, succeeded: 0, failed: 0 },
      eventId: 'evt_1',
    });
  });
});
