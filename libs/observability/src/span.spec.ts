import { describe, expect, it } from '@jest/globals';
import { newTraceparent, traceIdOf } from './span.ts';

describe('traceIdOf', () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

  it('accepts what W3C Trace Context allows', () => {
    expect(traceIdOf(`00-${trace}-00f067aa0ba902b7-01`)).toBe(trace);
    expect(traceIdOf(`cc-${trace}-00f067aa0ba902b7-01`)).toBe(trace);
    expect(traceIdOf(`cc-${trace}-00f067aa0ba902b7-01-what-the-future-brings`)).toBe(trace);
    expect(traceIdOf(newTraceparent())).toMatch(/^[0-9a-f]{32}$/);
  });

  it.each([
    '',
    `00-${trace}-00f067aa0ba902b7`,
    `00-${trace}-00f067aa0ba902b7-01-x`,
    `00-${trace}-00f067aa0ba902b7-01 `,
    `ff-${trace}-00f067aa0ba902b7-01`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
    `cc-${trace}-00f067aa0ba902b7-01.x`,
  ])('refuses "%s"', (header) => {
    expect(traceIdOf(header)).toBeUndefined();
  });
});
