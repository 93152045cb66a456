import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { bytesLeftBehind } from '@sealgate/testing';
import fc from 'fast-check';
import { InFlight, type StartTimer } from './in-flight.ts';

/** A clock that is moved by hand and calls back what has become due. */
function handClock() {
  let nowMs = 0;
  const timers = new Set<{ dueMs: number; callback: () => void }>();
  const startTimer: StartTimer = (callback, delayMs) => {
    const timer = { dueMs: nowMs + delayMs, callback };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  const advance = (ms: number) => {
    nowMs += ms;
    for (const timer of [...timers]) {
      if (timer.dueMs > nowMs) continue;
      timers.delete(timer);
      timer.callback();
    }
  };
  return { startTimer, advance, waiting: () => timers.size };
}

/** A piece of work that ends when it is told to. */
function heldWork<T>() {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let starts = 0;
  const work = () => {
    starts++;
    return promise;
  };
  return { work, promise, resolve, reject, starts: () => starts };
}

const never = () => Promise.reject(new Error('must not run'));
const refusal = (code: string) => expect.objectContaining({ code });

function setUp(waitMs?: number) {
  const clock = handClock();
  const inFlight = new InFlight<string>({ startTimer: clock.startTimer, ...(waitMs !== undefined && { waitMs }) });
  return { clock, inFlight };
}

describe('InFlight', () => {
  it('runs the first work at once, without a timer, and forgets it when it ends', async () => {
    const { clock, inFlight } = setUp();
    const first = heldWork<string>();
    const running = inFlight.run('c', 'f', first.work);
    expect(first.starts()).toBe(1);
    expect(inFlight.size).toBe(1);
    expect(clock.waiting()).toBe(0);
    first.resolve('answer');
    expect(await running).toEqual({ value: 'answer', joined: false });
    expect(inFlight.size).toBe(0);
  });

  it('lets the same request join, and starts nothing for it', async () => {
    const { clock, inFlight } = setUp();
    const first = heldWork<string>();
    const running = inFlight.run('c', 'f', first.work);
    const joining = [inFlight.run('c', 'f', never), inFlight.run('c', 'f', never)];
    first.resolve('answer');
    expect(await running).toEqual({ value: 'answer', joined: false });
    expect(await Promise.all(joining)).toEqual([
      { value: 'answer', joined: true },
      { value: 'answer', joined: true },
    ]);
    expect(clock.waiting()).toBe(0);
  });

  it('does not join what has ended: the row knows the answer then', async () => {
    const { inFlight } = setUp();
    expect(await inFlight.run('c', 'f', async () => 'one')).toEqual({ value: 'one', joined: false });
    expect(await inFlight.run('c', 'f', async () => 'two')).toEqual({ value: 'two', joined: false });
  });

  it('lets a request with another fingerprint wait for the first, and then run its own work, which asks the row', async () => {
    const { clock, inFlight } = setUp();
    const [first, other] = [heldWork<string>(), heldWork<string>()];
    const running = inFlight.run('c', 'f', first.work);
    const waiting = inFlight.run('c', 'g', other.work);
    expect(other.starts()).toBe(0);
    first.resolve('answer');
    expect(await running).toEqual({ value: 'answer', joined: false });
    other.reject(new AppError('IDEMPOTENCY_KEY_REUSED', 'says the row'));
    await expect(waiting).rejects.toEqual(refusal('IDEMPOTENCY_KEY_REUSED'));
    expect(other.starts()).toBe(1);
    expect([inFlight.size, clock.waiting()]).toEqual([0, 0]);
  });

  it('does not take the body of a loser that is in flight for the one that won elsewhere', async () => {
    const { clock, inFlight } = setUp();
    const [loser, winner] = [heldWork<string>(), heldWork<string>()];
    const losing = inFlight.run('c', 'loser', loser.work);
    // The winner was answered by another process; here are requests with its body, before and after the loser ends.
    const early = inFlight.run('c', 'winner', never);
    clock.advance(250);
    await expect(early).rejects.toEqual(refusal('IDEMPOTENCY_IN_PROGRESS'));
    const replaying = inFlight.run('c', 'winner', winner.work);
    loser.reject(new AppError('IDEMPOTENCY_KEY_REUSED', 'says the row'));
    await expect(losing).rejects.toEqual(refusal('IDEMPOTENCY_KEY_REUSED'));
    winner.resolve('the answer that was kept');
    expect(await replaying).toEqual({ value: 'the answer that was kept', joined: false });
  });

  it('keeps claims apart', async () => {
    const { inFlight } = setUp();
    const first = heldWork<string>();
    const running = inFlight.run('c', 'f', first.work);
    expect(await inFlight.run('d', 'f', async () => 'other')).toEqual({ value: 'other', joined: false });
    first.resolve('answer');
    await running;
  });

  it('refuses after 250 ms as IDEMPOTENCY_IN_PROGRESS, to be sent again after a second', async () => {
    const { clock, inFlight } = setUp();
    const first = heldWork<string>();
    const running = inFlight.run('c', 'f', first.work);
    const joining = inFlight.run('c', 'f', never);
    let ended = false;
    joining.catch(() => (ended = true));
    clock.advance(249);
    await Promise.resolve();
    expect(ended).toBe(false);
    clock.advance(1);
    await expect(joining).rejects.toBeInstanceOf(AppError);
    await expect(joining).rejects.toEqual(
      expect.objectContaining({ code: 'IDEMPOTENCY_IN_PROGRESS', status: 409, retryAfterSeconds: 1 }),
    );
    first.resolve('answer');
    expect(await running).toEqual({ value: 'answer', joined: false });
  });

  it('waits as long as it was told', async () => {
    const { clock, inFlight } = setUp(10);
    const first = heldWork<string>();
    const running = inFlight.run('c', 'f', first.work);
    const joining = inFlight.run('c', 'f', never);
    clock.advance(10);
    await expect(joining).rejects.toEqual(refusal('IDEMPOTENCY_IN_PROGRESS'));
    first.resolve('answer');
    await running;
  });

  it('gives a failure to the first alone; who waited runs its own work, one after the other', async () => {
    const { clock, inFlight } = setUp();
    const [first, second] = [heldWork<string>(), heldWork<string>()];
    const running = inFlight.run('c', 'f', first.work);
    const joining = inFlight.run('c', 'f', second.work);
    const last = inFlight.run('c', 'f', never);
    first.reject(new Error('the client went away'));
    await expect(running).rejects.toThrow('the client went away');
    second.resolve('answer');
    expect(await joining).toEqual({ value: 'answer', joined: false });
    expect(await last).toEqual({ value: 'answer', joined: true });
    expect([first.starts(), second.starts()]).toEqual([1, 1]);
    expect([inFlight.size, clock.waiting()]).toEqual([0, 0]);
  });

  it('counts the wait from its begin, also when the first fails in between', async () => {
    const { clock, inFlight } = setUp();
    const [first, second] = [heldWork<string>(), heldWork<string>()];
    const running = inFlight.run('c', 'f', first.work);
    const joining = inFlight.run('c', 'f', second.work);
    const last = inFlight.run('c', 'f', never);
    clock.advance(200);
    first.reject(new Error('failed'));
    await expect(running).rejects.toThrow('failed');
    while (second.starts() === 0) await Promise.resolve();
    clock.advance(50);
    await expect(last).rejects.toEqual(refusal('IDEMPOTENCY_IN_PROGRESS'));
    second.resolve('answer');
    expect(await joining).toEqual({ value: 'answer', joined: false });
  });

  it('lets who waited go on waiting when another request has taken the claim since', async () => {
    const { clock, inFlight } = setUp();
    const [first, other, last] = [heldWork<string>(), heldWork<string>(), heldWork<string>()];
    const running = inFlight.run('c', 'f', first.work);
    const joining = inFlight.run('c', 'f', last.work);
    // The claim is free as soon as the work has failed, and this is told before those who wait.
    const taken = first.promise.catch(() => inFlight.run('c', 'g', other.work));
    first.reject(new Error('failed'));
    await expect(running).rejects.toThrow('failed');
    other.resolve('theirs');
    expect(await taken).toEqual({ value: 'theirs', joined: false });
    last.resolve('ours');
    expect(await joining).toEqual({ value: 'ours', joined: false });
    expect([inFlight.size, clock.waiting()]).toEqual([0, 0]);
  });

  it('leaves nothing behind when the work throws before it returns a promise', async () => {
    const { inFlight } = setUp();
    const throwing = () => {
      throw new Error('at once');
    };
    await expect(inFlight.run('c', 'f', throwing)).rejects.toThrow('at once');
    expect(inFlight.size).toBe(0);
  });

  it('uses the timer of the platform unless it is given one', async () => {
    const inFlight = new InFlight<string>({ waitMs: 1 });
    const first = heldWork<string>();
    const running = inFlight.run('c', 'f', first.work);
    await expect(inFlight.run('c', 'f', never)).rejects.toEqual(refusal('IDEMPOTENCY_IN_PROGRESS'));
    first.resolve('answer');
    await running;
  });

  it('never runs two works of one claim at once, and never answers for another fingerprint, whatever comes', async () => {
    const request = fc.record({ fails: fc.boolean(), fingerprint: fc.constantFrom('f', 'g') });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 12 }), fc.scheduler(), async (requests, s) => {
        const { clock, inFlight } = setUp();
        let atOnce = 0;
        let most = 0;
        const runs = requests.map(({ fails, fingerprint }, index) =>
          inFlight
            .run('c', fingerprint, async () => {
              most = Math.max(most, ++atOnce);
              await s.schedule(Promise.resolve());
              atOnce--;
              if (fails) throw new Error('failed');
              return `${fingerprint}${index}`;
            })
            .then(
              ({ value }) => value,
              (error: Error) => error.message,
            ),
        );
        await s.waitFor(Promise.all(runs));
        expect(most).toBe(1);
        expect([inFlight.size, clock.waiting()]).toEqual([0, 0]);
        const firstGood = requests.findIndex(({ fails }) => !fails);
        const isOneKind = requests.every(({ fingerprint }) => fingerprint === requests[0]!.fingerprint);
        if (isOneKind && firstGood >= 0) expect(await runs.at(-1)).toBe(`${requests[0]!.fingerprint}${firstGood}`);
        for (const [index, answer] of (await Promise.all(runs)).entries()) {
          expect(answer === 'failed' ? requests[index]?.fails : answer.startsWith(requests[index]!.fingerprint)).toBe(
            true,
          );
        }
      }),
      { numRuns: 200 },
    );
  });
});

it('leaves nothing of what has ended to a full collection', async () => {
  const inFlight = new InFlight<number[]>();
  const requests = 10_000;
  let next = 0;
  const sender = async () => {
    while (next < requests) {
      const number = (next += 1);
      // 1 KiB and more each.
      await inFlight.run(`claim ${number}`, 'fingerprint', async () => new Array<number>(128).fill(number));
    }
  };
  const { promise, resolve } = Promise.withResolvers<number[]>();
  const first = inFlight.run('claim', 'fingerprint', () => promise);
  const left = await bytesLeftBehind(async () => void (await Promise.all(Array.from({ length: 64 }, sender))));
  resolve([]);
  await first;
  expect(left / requests).toBeLessThan(500);
});
