import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { timePrinter } from './time-text.ts';

describe('timePrinter', () => {
  it('prints RFC 3339 in UTC with exactly three fraction digits', () => {
    const print = timePrinter();
    expect(print(0)).toBe('1970-01-01T00:00:00.000Z');
    expect(print(1_767_225_600_042)).toBe('2026-01-01T00:00:00.042Z');
    expect(print(1_767_225_600_999.9)).toBe('2026-01-01T00:00:00.999Z');
  });

  it('agrees with Date in whatever order the times come', () => {
    const print = timePrinter();
    fc.assert(
      fc.property(fc.integer({ min: -8.64e12, max: 2.5e14 }), (epochMs) => {
        expect(print(epochMs)).toBe(new Date(epochMs).toISOString());
      }),
    );
  });
});
