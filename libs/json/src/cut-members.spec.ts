import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Bytes } from '#platform';
import { cutMembers, scalarAt } from './cut-members.ts';
import type { JsonValue } from './canonical.ts';

const NAMES = new Set(['password', 'cvv', 'credit_card']);
const cut = (text: string) => {
  const { bytes, removed } = cutMembers(Bytes.from(text), NAMES);
  return { text: bytes.toString(), removed };
};
const refused = (body: string | Bytes): unknown => {
  try {
    return cutMembers(typeof body === 'string' ? Bytes.from(body) : body, NAMES);
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code}: ${message}`;
  }
};

describe('a text without some of its members', () => {
  it.each([
    ['the only one', '{"password":1}', '{}', 1],
    ['the first', '{"password":1,"b":2}', '{"b":2}', 1],
    ['the last', '{"a":1,"password":2}', '{"a":1}', 1],
    ['one in the middle', '{"a":1,"password":{"x":[1]},"b":2}', '{"a":1,"b":2}', 1],
    ['the first two', '{"password":1,"cvv":2,"b":3}', '{"b":3}', 2],
    ['all', '{"password":1,"cvv":2,"password":3}', '{}', 3],
    ['around a kept one', '{"cvv":1,"a":2,"cvv":3,"cvv":4,"b":5,"cvv":6}', '{"a":2,"b":5}', 4],
    ['in any ASCII case', '{"PassWord":1,"a":2}', '{"a":2}', 1],
    ['with an escaped name', '{"passwor\\u0064":1,"\\u0043v\\u0056":2,"a":3}', '{"a":3}', 2],
    ['in arrays and objects', '[[{"cvv":1,"a":[{"password":2}]}]]', '[[{"a":[{}]}]]', 2],
    ['with others inside, counted once', '{"password":{"password":1,"cvv":[]},"a":1}', '{"a":1}', 1],
    ['and leaves blanks', '{ "a" : 1 , "cvv" : 2 , "b" : 3 }', '{ "a" : 1  , "b" : 3 }', 1],
    ['and leaves blanks at the start', '\n{\t"cvv" : 2 , "b" : 3}\r\n', '\n{\t "b" : 3}\r\n', 1],
    ['whose value looks like JSON', '{"a":1,"cvv":"\\"},{\\"b\\":","c":"}"}', '{"a":1,"c":"}"}', 1],
    ['whose value ends in a backslash', '{"cvv":"\\\\","a":"\\\\"}', '{"a":"\\\\"}', 1],
    ['a duplicate', '{"cvv":1,"a":1,"a":2,"cvv":3}', '{"a":1,"a":2}', 2],
    ['beside __proto__', '{"__proto__":{"cvv":1},"cvv":2}', '{"__proto__":{}}', 2],
  ])('lacks %s', (_what, text, expected, removed) => {
    expect(cut(text)).toEqual({ text: expected, removed });
  });

  it.each([
    ['names that only look alike', '{"passw\u00f6rd":1,"pa\u017f\u017fword":2,"password ":3,"xcvv":4,"c\\u0000vv":5}'],
    ['a value of that name', '["cvv",{"a":"password"}]'],
    ['numbers as written', '[820982911946154508,1e400,-0.0,1E+2,0.10000000000000000001]'],
    ['half of a surrogate pair, as it is escaped', '{"a\\ud800":"\\uDFFF"}'],
    ['a byte order mark', '\ufeff{"a":1}'],
    ['characters of several bytes', '{"\u00e4\ud83d\ude00":"\u20ac"}'],
    ['scalars', ' "x" '],
    ['empty containers', '[{},[ ],{ }]'],
  ])('keeps %s', (_what, text) => {
    expect(cut(text)).toEqual({ text, removed: 0 });
  });

  it('may be nested a million deep', () => {
    const deep = 1_000_000;
    const text = '['.repeat(deep) + '{"cvv":1}' + ']'.repeat(deep);
    expect(cut(text)).toEqual({ text: '['.repeat(deep) + '{}' + ']'.repeat(deep), removed: 1 });
    const objects = '{"a":'.repeat(deep) + '{"a":1,"cvv":1}' + '}'.repeat(deep);
    expect(cut(objects).removed).toBe(1);
    expect(refused('['.repeat(deep))).toBe('INVALID_JSON: The body ends too early.');
  });

  it.each([
    ['', 'The body ends too early.'],
    [' ', 'The body ends too early.'],
    ['{"a":1', 'The body ends too early.'],
    ['{"a', 'The body ends too early.'],
    ['{"a":1}}', 'Unexpected character at line 1, column 8.'],
    ['{"a":1]', 'Unexpected character at line 1, column 7.'],
    ['[1}', 'Unexpected character at line 1, column 3.'],
    ['{"a":1,}', 'Unexpected character at line 1, column 8.'],
    ['[1,]', 'Unexpected character at line 1, column 4.'],
    ['[1\n,2 3]', 'Unexpected character at line 2, column 4.'],
    ['{a:1}', 'Unexpected character at line 1, column 2.'],
    ['{"cvv"}', 'Unexpected character at line 1, column 7.'],
    ["{'a':1}", 'Unexpected character at line 1, column 2.'],
    ['[01]', 'Unexpected character at line 1, column 3.'],
    ['[.5]', 'Unexpected character at line 1, column 2.'],
    ['[1.]', 'Unexpected character at line 1, column 4.'],
    ['[1e]', 'Unexpected character at line 1, column 4.'],
    ['[-]', 'Unexpected character at line 1, column 3.'],
    ['[NaN]', 'Unexpected character at line 1, column 2.'],
    ['[nul]', 'Unexpected character at line 1, column 5.'],
    ['["\\x41"]', 'Unexpected character at line 1, column 4.'],
    ['["\\u12g4"]', 'Unexpected character at line 1, column 7.'],
    ['["a\nb"]', 'Unexpected character at line 1, column 4.'],
    ['["\u0000"]', 'Unexpected character at line 1, column 3.'],
    ['[1]\u0000', 'Unexpected character at line 1, column 4.'],
    ['// x\n{}', 'Unexpected character at line 1, column 1.'],
    ['\ufeff\ufeff{}', 'Unexpected character at line 1, column 2.'],
  ])('is refused where the text is no JSON: %j', (text, detail) => {
    expect(refused(text)).toBe(`INVALID_JSON: ${detail}`);
  });

  it('is refused where the bytes are no UTF-8, an encoded surrogate included', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
    ])
      expect(refused(Bytes.from(bytes))).toBe('INVALID_JSON: The body is not UTF-8.');
  });
});

/** JSON texts as others print them: duplicate members, blanks, escapes. */
const blank = fc.constantFrom('', ' ', '\n', '\t ');
const name = fc.oneof(
  fc.constantFrom('cvv', 'CVV', 'c\\u0076v', 'password', 'a', 'b', '', '__proto__', '\\"cvv\\":1,', 'cvv\\\\'),
  fc.string({ maxLength: 4 }).map((text) => JSON.stringify(text).slice(1, -1)),
);
const { text: jsonText } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      '1',
      '-0',
      '820982911946154508',
      '1e999',
      'true',
      'null',
      '"\\ud800"',
      '"cvv"',
      '"\\"}"',
      '[]',
      '{}',
    ),
    fc
      .array(
        fc.tuple(blank, tie('text'), blank).map((parts) => parts.join('')),
        { maxLength: 4 },
      )
      .map((items) => `[${items.join()}]`),
    fc
      .array(
        fc.tuple(blank, name, blank, tie('text'), blank).map(([a, n, b, value, c]) => `${a}"${n}"${b}:${value}${c}`),
        { maxLength: 5 },
      )
      .map((members) => `{${members.join()}}`),
  ),
}));

function without(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(without);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !NAMES.has(key.toLowerCase()))
      .map(([key, inner]) => [key, without(inner)]),
  );
}

describe('any JSON text', () => {
  it('without the members means what its value without them means', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(JSON.parse(cut(text).text)).toEqual(without(JSON.parse(text) as JsonValue));
      }),
      { numRuns: 1000 },
    );
  });

  it('is followed exactly where JSON.parse follows it', () => {
    const broken = fc
      .tuple(jsonText, fc.nat(), fc.constantFrom('', '"', '\\', ',', '{', ']', '0', ' ', '.', 'e'))
      .map(([text, place, piece]) => {
        const at = place % (text.length + 1);
        return text.slice(0, at) + piece + text.slice(at + 1);
      });
    fc.assert(
      fc.property(broken, (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(typeof refused(text) !== 'string').toBe(isJson);
      }),
      { numRuns: 3000 },
    );
  });

  it('gives the scalars that its value has, the last duplicate first', () => {
    const tokens = fc.array(fc.constantFrom('a', 'b', 'cvv', '0', '1', ''), { maxLength: 3 });
    fc.assert(
      fc.property(jsonText, tokens, (text, path) => {
        let value: unknown = JSON.parse(text);
        for (const token of path)
          value =
            typeof value === 'object' && value !== null && Object.hasOwn(value, token)
              ? (value as never)[token]
              : undefined;
        const found = scalarAt(Bytes.from(text), path.map((token) => `/${token}`).join(''));
        if (value === undefined || (typeof value === 'object' && value !== null)) expect(found).toBeUndefined();
        else if (typeof value === 'string') expect(found).toMatchObject({ type: 'string', text: value });
        else expect(JSON.parse(found?.text ?? '')).toEqual(value);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a scalar in a text', () => {
  const TEXT = Bytes.from(
    '\ufeff {"id":820982911946154508,"a":{"x/y":["z",{"~":"m\\u00e4n\\ud800"}]},"a ":1,"id":820982911946154509 , "n":-1.50e2,"t":true}',
  );
  it.each([
    ['/id', { type: 'number', text: '820982911946154509' }],
    ['/a/x~1y/0', { type: 'string', text: 'z' }],
    ['/a/x~1y/1/~0', { type: 'string', text: 'm\u00e4n\ud800' }],
    ['/n', { type: 'number', text: '-1.50e2' }],
    ['/t', { type: 'other', text: 'true' }],
    ['/a', undefined],
    ['/a/x~1y/2', undefined],
    ['/a/x~1y/01', undefined],
    ['/id/0', undefined],
    ['/toString', undefined],
    ['', undefined],
  ])('at %s', (pointer, expected) => {
    const found = scalarAt(TEXT, pointer);
    expect(found && { type: found.type, text: found.text }).toEqual(expected);
  });
});
