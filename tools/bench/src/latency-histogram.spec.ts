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
    const histogram = histogramOf([0.001, 0.002, 0.003, 0.25]);
    expect(histogram.quantileMs(0.5)).toBe(0.002);
    expect(histogram.quantileMs(0.75)).toBe(0.003);
    expect(histogram.quantileMs(1)).toBe(0.25);
  });

  it('returns 0 without values', () => {
    expect(histogramOf([]).quantileMs(0.99)).toBe(0);
    expect(histogramOf([]).largestMs).toBe(0);
  });

  it('holds an hour without losing the order', () => {
    const histogram = histogramOf([1, 3_600_000]);
    expect(histogram.largestMs).toBe(3_600_000);
    expect(histogram.quantileMs(0.5)).toBeCloseTo(1, 1);
  });

  it('is never below the true quantile and at most 1 % above it', () => {
    const latencies = fc.array(fc.integer({ min: 0, max: 2_000_000_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(latencies, fc.double({ min: 0.01, max: 1, noNaN: true }), (microseconds, share) => {
        const sorted = microseconds.toSorted((a, b) => a - b);
        const exactMs = sorted[Math.ceil(sorted.length * share) - 1]! / 1_000;
        const toldMs = histogramOf(microseconds.map((us) => us / 1_000)).quantileMs(share);
        expect(toldMs).toBeGreaterThanOrEqual(exactMs);
        expect(toldMs).toBeLessThanOrEqual(exactMs * 1.01 + 0.001);
      }),
    );
  });
});
