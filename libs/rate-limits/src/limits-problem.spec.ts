import { expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import { sharedLimits, type Charge } from './limits.ts';
import { memoryLimits } from './memory-limits.ts';

const on = (bucket: string): Charge[] => [{ bucket, policy: { name: 'key', ratePerSecond: 10, burst: 100 } }];

it('shared limits say why Redis does not decide, and log a refusal also where it follows an outage', async () => {
  const { now } = testClock();
  const lines: unknown[] = [];
  const scheduled: (() => void)[] = [];
  let failure: Error | undefined = new Error('not connected');
  const answer = () => (failure === undefined ? Promise.resolve() : Promise.reject(failure));
  const limits = sharedLimits({
    redis: {
      takeLeased: () => undefined,
      charge: () => answer().then(() => memoryLimits({ now }).decide(on('a'), 1)),
      probe: answer,
    },
    local: memoryLimits({ now, startEmpty: true }),
    now,
    log: {
      info: (event) => lines.push(event),
      warn: (event, fields) => lines.push([event, fields]),
    },
    explain: (error) => `Redis: ${(error as Error).message}`,
    isRefusal: (error) => (error as Error).message === 'WRONGPASS',
    schedule: (work) => scheduled.push(work),
  });
  const probe = async (): Promise<void> => {
    for (const work of scheduled.splice(0)) work();
    await new Promise((resolve) => setImmediate(resolve));
  };
  expect(limits.problem).toBeUndefined();
  await limits.charge(on('a'), 1);
  expect(limits.problem).toBe('Redis: not connected');
  for (const message of ['timed out', 'WRONGPASS', 'WRONGPASS']) {
    failure = new Error(message);
    await probe();
    expect(limits.problem).toBe(`Redis: ${message}`);
  }
  failure = undefined;
  await probe();
  expect(limits.problem).toBeUndefined();
  expect(lines).toEqual([
    ['limits_local', { reason: 'Redis: not connected' }],
    ['limits_local', { reason: 'Redis: WRONGPASS' }],
    'limits_shared',
  ]);
});
