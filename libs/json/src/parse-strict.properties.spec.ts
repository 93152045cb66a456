import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import fc from 'fast-check';
import { parseStrict } from './parse-strict.ts';

/**
 * A document with the pointer to each of its values, in which the text of one place can be replaced. Whitespace and
 * escapes vary, so that equal documents are written in many ways.
 */
type Written = string | Written[] | { readonly members: readonly (readonly [string, Written])[] };

const blanks = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
const name = fc.string({ unit: fc.constantFrom('a', 'b', '/', '~', '"', 'ü', '😀', '_'), maxLength: 3 });
const scalar = fc.oneof(
  fc.constantFrom('null', 'true', 'false', '0', '-0', '1.50', '1E2', '"\\u00fc"', '"\\ud83d\\ude00"', '"[{"', '"\\\\"'),
  fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
  fc.integer().map(String),
);
const written = fc.letrec<{ any: Written }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    scalar,
    fc.array(tie('any'), { maxLength: 5 }),
    fc
      .uniqueArray(fc.tuple(name, tie('any')), { selector: ([member]) => member, maxLength: 24 })
      .map((members) => ({ members })),
  ),
})).any;

interface Style {
  readonly blank: string;
  readonly escape: boolean;
}
const style: fc.Arbitrary<Style> = fc.record({ blank: blanks, escape: fc.boolean() });

function quoted(text: string, { escape }: Style): string {
  if (!escape) return JSON.stringify(text);
  return `"${[...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;
}

/** Writes the document; `exchange` may return another text for the value at a pointer. */
function print(value: Written, how: Style, exchange: (pointer: string) => string | undefined, pointer = ''): string {
  const other = exchange(pointer);
  if (other !== undefined) return other;
  const { blank } = how;
  if (typeof value === 'string') return blank + value + blank;
  if (Array.isArray(value)) {
    const items = value.map((item, index) => print(item, how, exchange, `${pointer}/${index}`));
    return `${blank}[${blank}${items.join(',')}]${blank}`;
  }
  const members = value.members.map(([member, inner]) => {
    const inside = print(inner, how, exchange, `${pointer}/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`);
    return `${blank}${quoted(member, how)}${blank}:${inside}`;
  });
  return `${blank}{${blank}${members.join(',')}}${blank}`;
}

function pointersOf(value: Written): string[] {
  const pointers: string[] = [];
  print(value, { blank: '', escape: false }, (pointer) => {
    pointers.push(pointer);
    return undefined;
  });
  return pointers;
}

function outcomeOf(text: string): { code: string; pointer: string } {
  try {
    parseStrict(Buffer.from(text));
    return { code: 'none', pointer: '' };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { code: error.code, pointer: error.faults[0]?.pointer ?? 'none' };
  }
}

const nothing = () => undefined;

describe('parseStrict, for any document in any notation,', () => {
  it('parses what JSON.parse parses', () => {
    fc.assert(
      fc.property(written, style, (value, how) => {
        const text = print(value, how, nothing);
        expect(parseStrict(Buffer.from(text))).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['9007199254740993', 'UNSAFE_NUMBER', ''],
    ['"\\udead"', 'INVALID_JSON', ''],
    ['{"x":0,"__proto__":0}', 'INVALID_JSON', '/__proto__'],
    ['{"x":0,"y":[{}],"\\u0078":0}', 'DUPLICATE_MEMBER', '/x'],
    ['['.repeat(70) + ']'.repeat(70), 'JSON_TOO_DEEP', undefined],
    ['nul', 'INVALID_JSON', undefined],
  ])('finds %s at any place', (fault, code, below) => {
    fc.assert(
      fc.property(written, style, fc.nat(), (value, how, chosen) => {
        const pointers = pointersOf(value);
        const place = pointers[chosen % pointers.length] ?? '';
        const outcome = outcomeOf(print(value, how, (pointer) => (pointer === place ? fault : undefined)));
        expect(outcome.code).toBe(code);
        if (below !== undefined) expect(outcome.pointer).toBe(place + below);
        else if (code === 'INVALID_JSON') expect(outcome.pointer).toBe('');
        else expect(outcome.pointer.startsWith(place)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  it('finds every duplicate member, at any distance', () => {
    const withNames = fc.uniqueArray(name, { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(withNames, fc.nat(), style, style, (names, chosen, one, other) => {
        const twice = names[chosen % names.length] ?? '';
        const members = names.map((member) => `${quoted(member, one)}:0`);
        expect(outcomeOf(`[{${members.join(',')}}]`).code).toBe('none');
        expect(outcomeOf(`[{${members.join(',')},${quoted(twice, other)}:1}]`)).toEqual({
          code: 'DUPLICATE_MEMBER',
          pointer: `/0/${twice.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        });
      }),
      { numRuns: 300 },
    );
  });

  it('rejects what JSON.parse rejects, and only throws AppError', () => {
    const piece = fc.constantFrom(...'{}[],:"\\ue1-+.0\n ', 'true', '"a"', '"a":', '1e5', '\\u12', '\ud800', '/*');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('').toWellFormed();
        const { code } = outcomeOf(text);
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        if (!isJson) expect(['INVALID_JSON', 'DUPLICATE_MEMBER', 'UNSAFE_NUMBER']).toContain(code);
        else expect(['none', 'DUPLICATE_MEMBER', 'UNSAFE_NUMBER']).toContain(code);
      }),
      { numRuns: 5000 },
    );
  });

  it('returns a value or an error for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          parseStrict(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
