import { describe, expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import { CallWindow } from './call-window.ts';
import { OverloadedError } from './fabric-errors.ts';

const never = new AbortController().signal;
const windowOf = (max: number, queueMax = 10) => {
  const clock = testClock();
  return { clock, window: new CallWindow({ max, queueMax, now: clock.now }) };
};

describe('the window', () => {
  it('admits calls up to its size, and queued ones in order as slots are released', async () => {
    const { window } = windowOf(2);
    expect([window.enter(never), window.enter(never)]).toEqual([undefined, undefined]);
    const order: number[] = [];
    const waiting = [1, 2].map((n) => window.enter(never)!.then(() => order.push(n)));
    expect([window.active, window.queued]).toEqual([2, 2]);
    window.leave('succeeded');
    await waiting[0];
    expect(order).toEqual([1]);
    window.leave('failed');
    await waiting[1];
    expect([window.active, window.queued, order]).toEqual([2, 0, [1, 2]]);
  });

  it('rejects calls when the queue is full', async () => {
    const { window } = windowOf(1, 1);
    void window.enter(never);
    const waiting = window.enter(never);
    await expect(window.enter(never)).rejects.toThrow(OverloadedError);
    window.leave('succeeded');
    await waiting;
  });

  it('skips abandoned calls, and removes them', async () => {
    const { window, clock } = windowOf(1);
    void window.enter(never);
    const leaving = new AbortController();
    const first = window.enter(leaving.signal);
    const second = window.enter(never);
    clock.advance(70);
    expect(window.queueAgeMs).toBe(70);
    leaving.abort();
    await expect(first).rejects.toThrow(OverloadedError);
    await expect(window.enter(leaving.signal)).rejects.toThrow(OverloadedError);
    expect(window.queued).toBe(1);
    window.leave('succeeded');
    await second;
    expect([window.active, window.queued, window.queueAgeMs]).toEqual([1, 0, 0]);
  });

  it('halves once for concurrent overloads, never below one, and grows again', () => {
    const { window, clock } = windowOf(64);
    const call = (how: 'succeeded' | 'overloaded') => {
      void window.enter(never);
      window.leave(how);
    };
    for (let n = 0; n < 10; n += 1) call('overloaded');
    expect(window.size).toBe(32);
    for (let n = 0; n < 10; n += 1) {
      clock.advance(100);
      call('overloaded');
    }
    expect(window.size).toBe(1);
    for (let n = 0; n < 3000; n += 1) call('succeeded');
    expect(window.size).toBe(64);
  });

  it('admits no call until those running are below its new size', async () => {
    const { window } = windowOf(4);
    for (let n = 0; n < 4; n += 1) void window.enter(never);
    let inside = false;
    const waiting = window.enter(never)!.then(() => (inside = true));
    window.leave('overloaded');
    window.leave('failed');
    await Promise.resolve();
    expect([window.size, window.active, inside]).toEqual([2, 2, false]);
    window.leave('failed');
    await waiting;
    expect(window.active).toBe(2);
  });

  it('stays consistent over many entered and abandoned calls', async () => {
    const { window } = windowOf(1, 5000);
    void window.enter(never);
    for (let n = 0; n < 3000; n += 1) {
      const leaving = new AbortController();
      const waiting = window.enter(leaving.signal)!;
      const stays = n % 3 === 0 ? window.enter(never) : undefined;
      leaving.abort();
      await expect(waiting).rejects.toThrow();
      if (stays !== undefined) {
        window.leave('succeeded');
        await stays;
      }
    }
    expect([window.active, window.queued]).toEqual([1, 0]);
  });
});
