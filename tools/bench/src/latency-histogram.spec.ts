import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LatencyHistogram } from './latency-histogram.ts';

function histogramOf(milliseconds: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const value of milliseconds) histogram.record(value);
  return histogram;
}

describe('LatencyHistogram', () => {
  it('is exact to the microsecond for short latencies', () => {
    const histogram = histogramOf([0, 0.001, 0.002, 0.003, 0.25]);
    expect(histogram.count).toBe(5);
    expect(histogram.result()).toEqual({ p50Ms: 0.002, p99Ms: 0.25, largestMs: 0.25 });
  });

  it('returns 0 without values', () => {
    expect(histogramOf([]).result()).toEqual({ p50Ms: 0, p99Ms: 0, largestMs: 0 });
  });

  it('counts what took longer than an hour as an hour', () => {
    expect(histogramOf([1, 2, 7_200_000]).result().largestMs).toBeCloseTo(3_600_000, -4);
  });

  it('is never below the true quantile and at most 0.2 % above it', () => {
    const latencies = fc.array(fc.integer({ min: 1, max: 2_000_000_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(latencies, (microseconds) => {
        const sorted = microseconds.toSorted((a, b) => a - b);
        const exactMs = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1]! / 1_000;
        const { p50Ms, p99Ms } = histogramOf(microseconds.map((us) => us / 1_000)).result();
        for (const [told, exact] of [
          [p50Ms, exactMs(0.5)],
          [p99Ms, exactMs(0.99)],
        ] as const) {
          expect(told).toBeGreaterThanOrEqual(exact);
          expect(told).toBeLessThanOrEqual(exact * 1.002 + 0.001);
        }
      }),
    );
  });
});
