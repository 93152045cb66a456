import { describe, expect, it } from '@jest/globals';
import { CHANNEL, at, sampleLog } from './testing/sample-log.ts';
import { check, failures, isTile, log } from './testing/tampered-log.ts';
import type { Files } from './testing/tampered-log.ts';

describe('receipts', () => {
  const answers = (...lines: unknown[]) => lines.map((line) => JSON.stringify(line)).join('\n');
  const steps = (text: string) => failures((files) => files.set('r.ndjson', text), { receipts: ['r.ndjson'] });
  const record = at(log.answerOf(7).records, 0);

  it('in every format are found in the log, replays counted once', async () => {
    const { receipt, proof } = await log.proofOf(9);
    const text = answers(log.answerOf(0), log.answerOf(5, 6, 7), log.answerOf(7), receipt, { receipt, proof }, record);
    const report = await check((files) => files.set('r.ndjson', text), { receipts: ['r.ndjson'] });
    expect(report.verified).toBe(true);
    expect(report.steps.at(-1)?.detail).toBe(
      '5 receipts (8 lines) are in the log, each exactly once; 595 entries of the log have no receipt here.',
    );
  });

  it('are compared with the entries if there are no tiles', async () => {
    const withoutTiles = (files: Files) => {
      for (const path of [...files.keys()].filter(isTile)) files.delete(path);
      files.set('r.ndjson', answers(log.answerOf(1, 2)));
    };
    expect(await failures(withoutTiles, { receipts: ['r.ndjson'] })).toEqual([]);
  });

  it('of other channels are counted and not checked', async () => {
    const other = { records: [{ ...record, channel: 'demo.other', index: 9999 }] };
    const report = await check((files) => files.set('r.ndjson', answers(other)), { receipts: ['r.ndjson'] });
    expect(report.verified).toBe(true);
    expect(report.notes.join()).toContain('1 receipts are of other channels');
  });

  it.each<[string, unknown[], string]>([
    ['a lost acknowledged write', [{ ...record, index: 600 }], 'order-7 was acknowledged and is not in the log.'],
    ['an invalid index', [{ ...record, index: -1 }], 'order-7 was acknowledged and is not in the log.'],
    [
      'another entry in its place',
      [{ ...record, index: 8 }],
      'order-7 was acknowledged as entry 8, and the log has another',
    ],
    ['another hash', [{ ...record, leafHash: '0'.repeat(64) }], 'the log has another there'],
    ['an invalid hash', [{ ...record, leafHash: 'x' }], 'order-7: The leafHash is not 64 lower hex digits.'],
    ['a duplicate write', [record, { ...record, index: 8 }], 'order-7 has two receipts: it was written twice.'],
    ['two transactions for one id', [record, { ...record, leafHash: '0'.repeat(64) }], 'it was written twice'],
    ['a receipt that was edited', [{ ...at(log.entries, 7).receipt, owner: 'Eve' }], 'the log has another there'],
  ])('report %s', async (_, lines, detail) => {
    const found = await steps(answers({ records: [] }, ...lines));
    expect(found).toMatchObject([{ step: 'receipts', detail: expect.stringContaining(detail) }]);
  });

  it('report the number of failures', async () => {
    const lost = [600, 601, 602].map((index) => ({ ...record, id: `lost-${index}`, index }));
    expect((await steps(answers(...lost)))[0]?.detail).toContain('(3 receipts failed; this is the first)');
  });

  it('detect an entry that is in the log twice', async () => {
    const twice = sampleLog(20, { key: log.key, entries: [...log.entries.slice(0, 10), ...log.entries.slice(0, 1)] });
    const change = (files: Files) => {
      files.delete('leaves.ndjson');
      files.set('r.ndjson', answers(log.answerOf(0)));
    };
    const found = await failures(change, { of: twice, receipts: ['r.ndjson'] });
    expect(found).toEqual([{ step: 'receipts', detail: 'order-0 is in the log twice.' }]);
  });

  it('cannot be looked up if tiles are missing', async () => {
    const change = (files: Files) => {
      files.delete('leaves.ndjson');
      files.delete('tile/0/000');
      files.set('r.ndjson', answers(record));
    };
    const report = await check(change, { receipts: ['r.ndjson'], channel: CHANNEL });
    expect(report.verified).toBe(false);
    expect(report.steps.at(-1)).toMatchObject({ step: 'receipts', status: 'skipped' });
  });

  it('are unreadable if they come from a ledger without a log, or are not receipts', async () => {
    await expect(steps(answers({ records: [{ id: 'a', transactionId: 't', channel: CHANNEL }] }))).rejects.toThrow(
      'keeps no log that can be checked',
    );
    await expect(steps('[]')).rejects.toThrow('is not a JSON object');
  });
});
