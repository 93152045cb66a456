import { expect, it } from '@jest/globals';
import { Epochs } from './epochs.ts';
import { E1, LOST } from './testing/lost-channel.ts';

it('refreshes epochs older than a second, with one statement for concurrent callers', async () => {
  let nowMs = 0;
  const asked: number[] = [];
  const rows = [{ channel: LOST, epoch: 1, first_index: '7', statement: '{"lost":[{"epoch":0,"checkpoint":"note"}]}' }];
  const sql = {
    query: () => (asked.push(nowMs), Promise.resolve(nowMs > 1000 ? rows : [])),
    transaction: () => Promise.reject(),
  };
  const epochs = new Epochs(sql as never, () => nowMs);
  await Promise.all([epochs.fresh(), epochs.fresh(), epochs.fresh()]);
  expect(epochs.place(LOST, 8)).toEqual({ index: 8 });
  nowMs = 400;
  await epochs.fresh();
  expect(asked).toEqual([0]);
  nowMs = 1400;
  await epochs.fresh();
  expect(asked).toEqual([0, 1400]);
  expect(epochs.place(LOST, 8)).toEqual({ index: 2, epoch: 1 });
  expect(epochs.place(LOST, 6)).toEqual({ index: 6 });
  expect(epochs.position(LOST, { index: 2, epoch: 1 })).toBe(8);
  expect(epochs.position(LOST, { index: 6 })).toBe(6);
  expect([epochs.log(LOST), epochs.log('acme.other')]).toEqual([E1, 'acme.other']);
  expect([epochs.lastCheckpoint(LOST), epochs.lastCheckpoint(E1)]).toEqual(['note', undefined]);
});
