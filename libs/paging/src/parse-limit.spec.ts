import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseLimit } from './parse-limit.ts';

const range = { default: 50, max: 200 };

describe('parseLimit', () => {
  it('returns the default if absent', () => {
    expect(parseLimit(undefined, range)).toBe(50);
  });

  it.each([
    ['1', 1],
    ['50', 50],
    ['200', 200],
  ])('reads %s', (text, limit) => {
    expect(parseLimit(text, range)).toBe(limit);
  });

  it('accepts exactly the numbers of its range, up to four digits', () => {
    fc.assert(
      fc.property(fc.nat({ max: 20_000 }), fc.integer({ min: 1, max: 9999 }), (limit, max) => {
        const read = () => parseLimit(String(limit), { default: 1, max });
        if (limit >= 1 && limit <= max) expect(read()).toBe(limit);
        else expect(read).toThrow(expect.objectContaining({ code: 'INVALID_LIMIT' }));
      }),
    );
  });

  it.each([
    '',
    '0',
    '00',
    '01',
    '201',
    '9999',
    '10000',
    '-1',
    '+1',
    '1.0',
    '1e2',
    ' 1',
    '1 ',
    '0x10',
    '١',
    '1\n',
    'ten',
  ])('rejects "%s", pointing at the parameter', (text) => {
    expect(() => parseLimit(text, range)).toThrow(
      expect.objectContaining({
        code: 'INVALID_LIMIT',
        status: 400,
        message: 'The limit must be a whole number from 1 to 200.',
        faults: [{ in: 'query', pointer: '/limit', detail: 'The limit must be a whole number from 1 to 200.' }],
      }),
    );
  });
});
