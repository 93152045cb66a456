import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { bytesLeftBehind } from '@sealgate/testing';
import { AppendQueue, type WaitingUnit } from './append-queue.ts';
import { APPEND_LIMITS } from './embedded-ledger.ts';
import { prepareUnit } from './prepared-unit.ts';

/** A queue in front of a database that takes a turn of the event loop for each call. */
function openQueue() {
  const calls: (readonly WaitingUnit[])[] = [];
  const run = async (group: readonly WaitingUnit[]) => {
    calls.push(group);
    await nextTurn();
    for (const { resolve } of group) resolve({ outcome: 'reused' });
  };
  return { queue: new AppendQueue({ limits: APPEND_LIMITS, mixes: true, run, now: () => 0 }), calls };
}

function unit(number: number) {
  const record = { id: `r${number}`, type: 'asset', owner: null, data: '{}', extra: null };
  const of = { network: 'acme', channel: 'acme.main', note: 'x'.repeat(1024), records: [record] };
  return prepareUnit(of, 0, randomBytes);
}

it('counts what waits and what is under way', async () => {
  const { queue, calls } = openQueue();
  const first = queue.add(unit(1));
  await nextTurn();
  const second = queue.add(unit(2));
  expect(calls.map((group) => group.length)).toEqual([1]);
  expect(queue.depth).toBe(2);
  await Promise.all([first, second]);
  await queue.drained();
  expect(queue.depth).toBe(0);
  expect(calls.map((group) => group.length)).toEqual([1, 1]);
});

it('leaves nothing of what has ended to a full collection', async () => {
  const { queue, calls } = openQueue();
  const units = 4_000;
  let next = 0;
  const sender = async () => {
    while (next < units) {
      await queue.add(unit((next += 1)));
      calls.length = 0;
    }
  };
  const left = await bytesLeftBehind(async () => {
    await Promise.all(Array.from({ length: 64 }, sender));
    await queue.drained();
  });
  expect(left / units).toBeLessThan(500);
});
