import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { bytesLeftBehind } from '@sealgate/testing';
import fc from 'fast-check';
import { InFlight, type StartTimer } from './claim.ts';

/** A manual clock that runs due callbacks. */
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

/** Work that ends on demand. */
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
  it('runs the first work at once, without a timer, and removes it when it ends', async () => {
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

  it('joins the same request without starting its work', async () => {
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

  it('does not join a request that has ended: the row has its result', async () => {
    const { inFlight } = setUp();
    expect(await inFlight.run('c', 'f', async () => 'one')).toEqual({ value: 'one', joined: false });
    expect(await inFlight.run('c', 'f', async () => 'two')).toEqual({ value: 'two', joined: false });
  });

  it('lets a request with another fingerprint wait for the first, then run its own work, which reads the row', async () => {
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

  it("does not take a running loser's body for that of a winner in another process", async () => {
    const { clock, inFlight } = setUp();
    const [loser, winner] = [heldWork<string>(), heldWork<string>()];
    const losing = inFlight.run('c', 'loser', loser.work);
    // The winner was answered by another process; these requests have its body, before and after the loser ends.
    const early = inFlight.run('c', 'winner', never);
    clock.advance(250);
    await expect(early).rejects.toEqual(refusal('IDEMPOTENCY_IN_PROGRESS'));
    const replaying = inFlight.run('c', 'winner', winner.work);
    loser.reject(new AppError('IDEMPOTENCY_KEY_REUSED', 'says the row'));
    await expect(losing).rejects.toEqual(refusal('IDEMPOTENCY_KEY_REUSED'));
    winner.resolve('the answer that was kept');
    expect(await replaying).toEqual({ value: 'the answer that was kept', joined: false });
  });

  it('separates claims', async () => {
    const { inFlight } = setUp();
    const first = heldWork<string>();
    const running = inFlight.run('c', 'f', first.work);
    expect(await inFlight.run('d', 'f', async () => 'other')).toEqual({ value: 'other', joined: false });
    first.resolve('answer');
    await running;
  });

  it('rejects after 250 ms as IDEMPOTENCY_IN_PROGRESS, to be retried after a second', async () => {
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

  it('waits as long as configured', async () => {
    const { clock, inFlight } = setUp(10);
    const first = heldWork<string>();
    const running = inFlight.run('c', 'f', first.work);
    const joining = inFlight.run('c', 'f', never);
    clock.advance(10);
    await expect(joining).rejects.toEqual(refusal('IDEMPOTENCY_IN_PROGRESS'));
    first.resolve('answer');
    await running;
  });

  it('reports a failure to the first request only; waiting ones run their own work, one after the other', async () => {
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

  it('measures the wait from its start, even if the first fails in between', async () => {
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

  it('keeps waiting if another request has taken the claim meanwhile', async () => {
    const { clock, inFlight } = setUp();
    const [first, other, last] = [heldWork<string>(), heldWork<string>(), heldWork<string>()];
    const running = inFlight.run('c', 'f', first.work);
    const joining = inFlight.run('c', 'f', last.work);
    // The claim is free once the work has failed, and this callback runs before those of waiting requests.
    const taken = first.promise.catch(() => inFlight.run('c', 'g', other.work));
    first.reject(new Error('failed'));
    await expect(running).rejects.toThrow('failed');
    other.resolve('theirs');
    expect(await taken).toEqual({ value: 'theirs', joined: false });
    last.resolve('ours');
    expect(await joining).toEqual({ value: 'ours', joined: false });
    expect([inFlight.size, clock.waiting()]).toEqual([0, 0]);
  });

  it('leaves no entry if the work throws before it returns a promise', async () => {
    const { inFlight } = setUp();
    const throwing = () => {
      throw new Error('at once');
    };
    await expect(inFlight.run('c', 'f', throwing)).rejects.toThrow('at once');
    expect(inFlight.size).toBe(0);
  });

  it("uses the platform's timer by default", async () => {
    const inFlight = new InFlight<string>({ waitMs: 1 });
    const first = heldWork<string>();
    const running = inFlight.run('c', 'f', first.work);
    await expect(inFlight.run('c', 'f', never)).rejects.toEqual(refusal('IDEMPOTENCY_IN_PROGRESS'));
    first.resolve('answer');
    await running;
  });

  it('never runs two works of one claim at once, and never answers for another fingerprint', async () => {
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

it('retains no memory of ended works until a full collection', async () => {
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
