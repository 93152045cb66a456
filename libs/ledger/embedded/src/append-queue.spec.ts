import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { bytesLeftBehind } from '@sealgate/testing';
import { AppendQueue, type WaitingUnit } from './append-queue.ts';
import { APPEND_LIMITS } from './embedded-ledger.ts';
import { prepareUnit } from './append-statement.ts';

/** A queue whose calls each take one turn of the event loop. */
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

it('counts waiting and running units', async () => {
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

it('keeps no ended unit alive until a full collection', async () => {
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

it('splits the units in circulation into equal calls', async () => {
  const { queue, calls } = openQueue();
  let next = 0;
  // 64 senders, each of which sends again as soon as it is answered.
  const sender = async () => {
    for (let sent = 0; sent < 6; sent += 1) await queue.add(unit((next += 1)));
  };
  await Promise.all(Array.from({ length: 64 }, sender));
  const sizes = calls.map((group) => group.length);
  expect(sizes.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 32));
  expect(sizes.reduce((sum, size) => sum + size)).toBe(64 * 6);
});

it('recovers equal calls after one unit went ahead alone', async () => {
  const { queue, calls } = openQueue();
  let next = 0;
  const sender = async () => {
    for (let sent = 0; sent < 6; sent += 1) await queue.add(unit((next += 1)));
  };
  const ahead = sender();
  await nextTurn();
  await Promise.all([ahead, ...Array.from({ length: 63 }, sender)]);
  expect(calls.slice(0, 5).map((group) => group.length)).toEqual([1, 32, 32, 32, 32]);
});

it('sends few units in one call', async () => {
  const { queue, calls } = openQueue();
  await Promise.all(Array.from({ length: 16 }, (_, number) => queue.add(unit(number))));
  expect(calls.map((group) => group.length)).toEqual([16]);
});
