import { describe, expect, it } from '@jest/globals';
import { createLog, Metrics } from '@sealgate/observability';
import { testClock } from '@sealgate/testing';
import { PassThrough } from 'node:stream';
import { openSharedLimits } from './open-shared-limits.ts';

describe('openSharedLimits', () => {
  it('decides locally at the share of a replica without Redis, and sets the gauge', async () => {
    const { now } = testClock();
    const metrics = new Metrics('test', { processMetrics: false });
    const log = createLog({ service: 'test', level: 'info', stream: new PassThrough(), now });
    const opened = openSharedLimits({ url: undefined, name: 'test', prefix: 'test:', replicas: 2, now, log, metrics });
    const policy = { name: 'key', ratePerSecond: 10, burst: 10 } as const;
    expect((await opened.limits.charge([{ bucket: 'a', policy }], 1)).admitted).toBe(true);
    // A bucket starts empty except for one request: another replica may have just admitted a burst.
    expect((await opened.limits.charge([{ bucket: 'a', policy }], 1)).admitted).toBe(false);
    expect(opened.limits.state).toBe('local');
    expect(await metrics.text()).toContain('limits_shared{service="test"} 0');
    await opened.close();
  });
});
