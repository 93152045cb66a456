import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import fc from 'fast-check';
import { opensTooDeep } from './opens-too-deep.ts';
import { parseStrict } from './parse-strict.ts';

const isTooDeep = (text: string, withinBytes = 1_000) => opensTooDeep(Buffer.from(text), withinBytes);
const codeOf = (text: string): string => {
  try {
    parseStrict(Buffer.from(text));
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
  return 'none';
};

describe('opensTooDeep', () => {
  it('counts open brackets of either kind, from the 65th', () => {
    expect(isTooDeep('['.repeat(64))).toBe(false);
    expect(isTooDeep('['.repeat(65))).toBe(true);
    expect(isTooDeep('{"a":['.repeat(33))).toBe(true);
    expect(isTooDeep('[{}],'.repeat(90))).toBe(false);
  });

  it('examines the beginning only', () => {
    expect(isTooDeep(`${' '.repeat(935)}${'['.repeat(65)}`)).toBe(true);
    expect(isTooDeep(`${' '.repeat(936)}${'['.repeat(65)}`)).toBe(false);
  });

  it('skips strings, and escapes in them', () => {
    const brackets = '['.repeat(70);
    expect(isTooDeep(`["${brackets}","\\"${brackets}","\\\\",1]`)).toBe(false);
    expect(isTooDeep(`["\\\\",${brackets}`)).toBe(true);
  });

  it('is false for valid strict JSON, and true if only the depth is invalid', () => {
    const deep = fc
      .array(fc.constantFrom('[', '{"a":', '{"\\"[":', '[ "]\\\\",'), { minLength: 50, maxLength: 80 })
      .map(
        (openers) =>
          openers.join('') +
          '1' +
          openers
            .map((opener) => (opener[0] === '[' ? ']' : '}'))
            .reverse()
            .join(''),
      );
    fc.assert(
      fc.property(deep, (text) => {
        expect(codeOf(text)).toBe(isTooDeep(text) ? 'JSON_TOO_DEEP' : 'none');
      }),
    );
  });

  it('implies that the body is rejected', () => {
    const noise = fc.array(fc.constantFrom('[', '[', '[', '{"a":', '"', '\\', '1', ',', ']', 'x'), { maxLength: 200 });
    fc.assert(
      fc.property(noise, (parts) => {
        const text = `${'['.repeat(40)}${parts.join('')}`;
        if (isTooDeep(text)) expect(codeOf(text)).not.toBe('none');
      }),
    );
  });
});
