import { describe, expect, it } from '@jest/globals';
import type { Asked } from '../history.ts';
import { oneAnswer } from './one-answer.ts';
import { asked, verdictOf } from './testing/lines.ts';

const written: Partial<Asked> = { key: 'k', sent: { body: '{}' }, status: 200, text: '{"eventId":"evt_1"}' };

const broken = async (...lines: Partial<Asked>[]) => (await verdictOf(oneAnswer(), lines.map(asked))).broken;

describe('one answer for each key', () => {
  it('is kept by an answer and its replays, refusals between them, and other keys of other callers', async () => {
    const lines = [
      { ...written, status: 503, text: '{"code":"OUTCOME_UNKNOWN"}' },
      written,
      { ...written, replayed: true },
      { ...written, sent: { body: '[]' }, status: 422, text: '{"code":"IDEMPOTENCY_KEY_REUSED"}' },
      { ...written, as: 'other', text: '{"eventId":"evt_2"}' },
    ];
    expect(await verdictOf(oneAnswer(), lines.map(asked))).toMatchObject({ judged: 2, broken: [] });
  });

  it('is broken by another text', async () => {
    expect(await broken(written, { ...written, replayed: true, text: '{}' })).toEqual([
      'lines 1 and 2: two answers (write acme k)',
    ]);
  });

  it('is broken by two answers that are no replays', async () => {
    expect(await broken(written, written)).toEqual(['lines 1 and 2: by its answers it happened twice (write acme k)']);
  });

  it('is kept by two requests that did a part each of a write to two channels, and broken by a third', async () => {
    const parts = { ...written, text: '{"transactionIds":["a","b"]}' };
    expect(await broken(parts, parts, { ...parts, replayed: true })).toEqual([]);
    expect(await broken(parts, parts, parts)).toEqual([
      'lines 2 and 3: by its answers it happened twice (write acme k)',
    ]);
  });

  it('is kept by a ledger peer that finds its assets again, by the bytes alone', async () => {
    const sync = { ...written, act: 'sync' };
    expect(await broken(sync, sync)).toEqual([]);
    expect(await broken(sync, { ...sync, text: '{}' })).toEqual(['lines 1 and 2: two answers (sync acme k)']);
  });

  it('is broken by another body that is accepted', async () => {
    expect(await broken(written, { ...written, replayed: true, sent: { body: '[]' } })).toEqual([
      'lines 1 and 2: it was accepted with two texts (write acme k)',
    ]);
  });

  it('is not broken by a webhook whose id was used with other bytes, which is told so with 200', async () => {
    const delivery = { ...written, act: 'deliver', text: '{"records":[{"index":0}]}' };
    expect(await broken(delivery, { ...delivery, text: '{"eventId":"evt_2","records":[]}' })).toEqual([]);
  });
});
