import { describe, expect, it } from '@jest/globals';
import { demoDeliveries } from './source-demo.ts';

describe('the demo deliveries', () => {
  it('are the same each time, so that those sent again are duplicates', () => {
    expect(demoDeliveries()).toEqual(demoDeliveries());
  });

  it('are accepted, duplicate, forged, late, and no JSON', () => {
    const all = demoDeliveries();
    const accepted = all.filter(({ status }) => status === 200);
    expect([accepted.length, new Set(accepted.map(({ id }) => id)).size]).toEqual([27, 24]);
    const refused = all.filter(({ status }) => status !== 200);
    expect(refused.map(({ forged, lateSeconds, status }) => [status, forged, lateSeconds])).toEqual([
      [401, true, 0],
      [401, true, 0],
      [401, false, 5400],
      [400, false, 0],
    ]);
    expect(() => JSON.parse(refused.at(-1)!.body)).toThrow(SyntaxError);
  });
});
