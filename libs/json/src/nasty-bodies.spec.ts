import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { canonical } from './canonical.ts';
import { nastyBodies } from './nasty-bodies.ts';
import { parseStrict } from './parse-strict.ts';

/**
 * A quarter of a mebibyte each takes some milliseconds; anything non-linear would take minutes. Exact times are
 * measured by the benchmark, on an idle machine.
 */
const SIZE = 256 * 1024;
const GENEROUS_MS = 1000;

describe('a body made to be slow', () => {
  it.each(nastyBodies(SIZE))('is parsed or rejected in linear time: $name', ({ text, code }) => {
    const bytes = Buffer.from(text);
    expect(Math.abs(bytes.length - SIZE)).toBeLessThan(1000);
    let outcome;
    // The best of three, by CPU time: tolerates a busy machine and garbage collections.
    const costsMs = [1, 2, 3].map(() => {
      const before = process.cpuUsage();
      try {
        canonical(parseStrict(bytes));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        outcome = error.code;
        expect((error.faults[0]?.pointer ?? '').length).toBeLessThanOrEqual(2048);
        expect(error.message.length).toBeLessThan(100);
      }
      return process.cpuUsage(before).user / 1000;
    });
    expect(Math.min(...costsMs)).toBeLessThan(GENEROUS_MS);
    expect(outcome).toBe(code);
  });

  it('is rejected at its depth within 20 ms, regardless of length', () => {
    const bytes = Buffer.alloc(500_000, '[');
    const times = [1, 2, 3].map(() => {
      const start = performance.now();
      expect(() => parseStrict(bytes)).toThrow(AppError);
      return performance.now() - start;
    });
    expect(Math.min(...times)).toBeLessThan(20);
  });
});
