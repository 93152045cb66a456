import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { equalHashesOf } from './nasty-bodies.ts';
import { parseStrict, parseStrictInTurns } from './parse-strict.ts';

function refusalOf(body: string | Uint8Array): { code: string; pointer: string; detail: string } {
  try {
    parseStrict(typeof body === 'string' ? Buffer.from(body) : body);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.faults).toHaveLength(1);
    const [fault] = error.faults;
    expect(fault).toEqual({ in: 'body', pointer: fault?.pointer, detail: error.message });
    return { code: error.code, pointer: fault?.pointer ?? 'none', detail: error.message };
  }
  return { code: 'none', pointer: 'none', detail: 'none' };
}

const refused = (code: string, pointer: string) => expect.objectContaining({ code, pointer });
const arrays = (depth: number, inner = '') => '['.repeat(depth) + inner + ']'.repeat(depth);
const objects = (depth: number, inner: string) => '{"a":'.repeat(depth) + inner + '}'.repeat(depth);

describe('parseStrict accepts', () => {
  it.each([
    'null',
    'true',
    'false',
    '0',
    '""',
    '[]',
    '{}',
    ' \t\r\n[ 1 , 2 ]\n',
    '{ "a" : { "b" : [ { } , [ ] ] } }',
    '[0.1,1.10,1E2,-0,1e+2,100e-2]',
    '{"b":1,"1":2}',
    '{"a":{"a":{"a":1}},"b":{"a":2}}',
    '[{"a":1},{"a":1}]',
    '{"":1}',
    '{"__proto":1,"__proto___":2,"proto":3}',
    '["__proto__"]',
    '{"a":"__proto__","constructor":1,"toString":2,"hasOwnProperty":3}',
    String.raw`"\"\\\/\b\f\n\r\t\u00fc\uD83D\uDE00"`,
    String.raw`{"\u0061":1,"b":2}`,
    '"ü€😀\u007f\u2028"',
    '{"ü":1,"u\u0308":2}',
    '"\\u0000"',
    `"${'x'.repeat(100_000)}"`,
    arrays(64),
    arrays(64, '1'),
    objects(64, '1'),
    `${arrays(64)}\n`,
    '["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["]',
  ])('%s, like JSON.parse', (text) => {
    expect(parseStrict(Buffer.from(text))).toEqual(JSON.parse(text));
  });

  it('bytes that are not a Buffer, and a part of a larger one', () => {
    expect(parseStrict(new TextEncoder().encode('["ü"]'))).toEqual(['ü']);
    expect(parseStrict(new TextEncoder().encode('xx["ü"]xx').subarray(2, 8))).toEqual(['ü']);
  });
});

describe('parseStrict rejects as INVALID_JSON', () => {
  it.each([
    ['nothing', ''],
    ['blanks alone', ' \n'],
    ['a broken literal', 'nul'],
    ['a literal in capitals', 'True'],
    ['two values', '1 2'],
    ['two values that touch', '{}{}'],
    ['a trailing comma in an array', '[1,]'],
    ['a trailing comma in an object', '{"a":1,}'],
    ['a leading comma', '[,1]'],
    ['a missing comma', '[1 2]'],
    ['a missing colon', '{"a" 1}'],
    ['a missing value', '{"a":}'],
    ['a missing name', '{:1}'],
    ['a name without quotes', '{a:1}'],
    ['single quotes', "{'a':1}"],
    ['a comment', '[1/*x*/]'],
    ['an unclosed array', '[1'],
    ['an unclosed object', '{"a":1'],
    ['an unclosed string', '"abc'],
    ['a string that ends in a backslash', '"abc\\'],
    ['the wrong bracket', '[1}'],
    ['the wrong brace', '{"a":1]'],
    ['a closing bracket alone', ']'],
    ['closers before openers', `]]]]${arrays(70)}`],
    ['a line feed in a string', '"a\nb"'],
    ['U+0000 in a string', '"a\u0000b"'],
    ['U+0000 behind the value', '1\u0000'],
    ['an unknown escape', '"\\x41"'],
    ['a short escape', '"\\u12"'],
    ['an escape that is not hexadecimal', '"\\u12g4"'],
    ['an escape with a sign', '"\\u+123"'],
    ['a non-JSON space', '[1,\u00a02]'],
    ['a vertical tab', '[\v1]'],
    ['a leading zero', '01'],
    ['a negative leading zero', '-01'],
    ['a plus sign', '+1'],
    ['a minus sign alone', '-'],
    ['a point without digits before it', '.5'],
    ['a decimal point without digits after it', '5.'],
    ['an exponent without digits', '1e'],
    ['an exponent with a sign and no digits', '1e+'],
    ['hexadecimal', '0x10'],
    ['NaN', 'NaN'],
    ['Infinity', '-Infinity'],
    ['undefined', 'undefined'],
  ])('%s, with an empty pointer', (_what, text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(refusalOf(text)).toEqual(refused('INVALID_JSON', ''));
  });

  it.each([
    ['a byte order mark', Buffer.from('\ufeff{}')],
    ['a byte order mark alone', Buffer.from('\ufeff')],
    ['a byte that is not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a sequence cut short', Buffer.from([0x22, 0xc3, 0x22])],
    ['an overlong form', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['a surrogate written in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
    ['UTF-16 with its byte order mark', Buffer.from('\ufeff{}', 'utf16le')],
    ['a code point beyond the last', Buffer.from([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22])],
  ])('%s', (_what, bytes) => {
    expect(refusalOf(bytes)).toEqual(refused('INVALID_JSON', ''));
  });

  it.each([
    ['"\\ud800"', ''],
    ['"\\udc00"', ''],
    ['"\\ud800\\ud800"', ''],
    ['"\\udc00\\ud800"', ''],
    ['"\\ud83d😀"', ''],
    ['"\\ud83dx\\ude00"', ''],
    ['"\\uD83D\\n"', ''],
    ['{"a":[1,"x\\uDFFF"]}', '/a/1'],
    ['{"a":1,"x\\ud800":2}', '/x\ufffd'],
  ])('a lone surrogate in %s, pointing at the text', (text, pointer) => {
    expect(refusalOf(text)).toEqual(refused('INVALID_JSON', pointer));
  });

  it.each([
    ['{"__proto__":1}', '/__proto__'],
    ['{"a":[{"b":{"__proto__":{}}}]}', '/a/0/b/__proto__'],
    [String.raw`{"__pr\u006fto__":1}`, '/__proto__'],
    [String.raw`{"\u005f_proto__":1}`, '/__proto__'],
    ['{"a":1,"__proto__":1,"__proto__":2}', '/__proto__'],
  ])('the member __proto__ in %s, pointing at it', (text, pointer) => {
    expect(refusalOf(text)).toEqual(refused('INVALID_JSON', pointer));
  });

  it('reports line and column of a syntax error, and quotes nothing', () => {
    expect(refusalOf('{\n  "a": 1,\n  "ü": secret\n}').detail).toBe('Unexpected character at line 3, column 8.');
    expect(refusalOf('[1,').detail).toBe('The body ends too early.');
    expect(refusalOf('').detail).toBe('The body is empty.');
  });
});

describe('parseStrict rejects as DUPLICATE_MEMBER', () => {
  it.each([
    ['{"a":1,"a":1}', '/a'],
    ['{"a":1,"b":2,"a":{"c":1}}', '/a'],
    ['{"":1,"":2}', '/'],
    ['[0,{"x":{"a/b":1,"c~d":1,"a/b":2}}]', '/1/x/a~1b'],
    ['{"~":1,"~":2}', '/~0'],
    [String.raw`{"a":1,"\u0061":2}`, '/a'],
    [String.raw`{"\u0061":1,"a":2}`, '/a'],
    [String.raw`{"\u00fc":1,"ü":2}`, '/ü'],
    [String.raw`{"😀":1,"\ud83d\ude00":2}`, '/😀'],
    [String.raw`{"a\/b":1,"a/b":2}`, '/a~1b'],
    ['{"o":{"a":1},"a":2,"o":3}', '/o'],
    ['{"a":{"a":{"b":1,"b":2}}}', '/a/a/b'],
    ['{"constructor":1,"constructor":2}', '/constructor'],
    ['{"1":1,"1":2}', '/1'],
  ])('%s, pointing at the member', (text, pointer) => {
    expect(refusalOf(text)).toEqual(refused('DUPLICATE_MEMBER', pointer));
  });

  it.each([2, 16, 17, 18, 40, 1000])('a final name of an object of %i members, whichever it repeats', (count) => {
    const names = Array.from({ length: count - 1 }, (_, index) => `n${index}`);
    for (const repeated of new Set([names[0], names[Math.floor(names.length / 2)], names.at(-1)])) {
      const members = [...names, repeated].map((name) => `"${name}":{"n0":0}`);
      expect(refusalOf(`[{"n1":{${members.join(',')}}}]`)).toEqual(refused('DUPLICATE_MEMBER', `/0/n1/${repeated}`));
      expect(refusalOf(`{${members.slice(0, -1).join(',')}}`).code).toBe('none');
    }
  });

  it.each([1, 3, 5])('even among two to the power of %i names with equal hashes', (pairs) => {
    const names = equalHashesOf(pairs);
    const members = names.map((name) => `"${name}":0`).join(',');
    expect(refusalOf(`{${members}}`).code).toBe('none');
    for (const name of names) {
      expect(refusalOf(`{${members},"${name}":1}`)).toEqual(refused('DUPLICATE_MEMBER', `/${name}`));
    }
  });
});

describe('parseStrict rejects as UNSAFE_NUMBER', () => {
  it.each([
    ['9007199254740993', ''],
    ['[1e400]', '/0'],
    ['{"a":[0,{"b":1e-400}]}', '/a/1/b'],
    ['{"a":0.12345678901234567890,"b":1e400}', '/a'],
    ['{"a":"9007199254740993","b":-9007199254740993}', '/b'],
  ])('%s, pointing at the number', (text, pointer) => {
    expect(refusalOf(text)).toEqual(refused('UNSAFE_NUMBER', pointer));
  });
});

describe('parseStrict rejects as JSON_TOO_DEEP', () => {
  it.each([
    [arrays(65), '/0'.repeat(64)],
    [objects(65, '1'), '/a'.repeat(64)],
    [objects(64, '[]'), '/a'.repeat(64)],
    [`[1,${arrays(65)}]`, `/1${'/0'.repeat(63)}`],
    [`{"x":[],"ü":${arrays(63)},"y":[0,${arrays(63)}]}`, `/y/1${'/0'.repeat(62)}`],
    ['['.repeat(500_000), '/0'.repeat(64)],
    [`${'['.repeat(65)} not JSON at all`, '/0'.repeat(64)],
  ])('the first value that is too deep', (text, pointer) => {
    expect(refusalOf(text)).toEqual(refused('JSON_TOO_DEEP', pointer));
  });
});

describe('parseStrict reports one fault', () => {
  it.each([
    ['{"a":1e400,"a":1}', 'UNSAFE_NUMBER', '/a'],
    ['{"a":1,"a":1e400}', 'DUPLICATE_MEMBER', '/a'],
    [`{"a":1,"a":${arrays(70)}}`, 'DUPLICATE_MEMBER', '/a'],
    [`[${arrays(70)},1e400]`, 'JSON_TOO_DEEP', '/0'.repeat(64)],
    ['[1e400,}', 'UNSAFE_NUMBER', '/0'],
    ['[},1e400', 'INVALID_JSON', ''],
  ])('the first in %s', (text, code, pointer) => {
    expect(refusalOf(text)).toEqual(refused(code, pointer));
  });

  it('with a pointer of at most 2,048 characters, to the nearest enclosing value if it would be longer', () => {
    const long = 'n'.repeat(2040);
    expect(refusalOf(`{"a":{"${long}":{"b":[1e400]}}}`)).toEqual(refused('UNSAFE_NUMBER', `/a/${long}/b/0`));
    expect(refusalOf(`{"a":{"${long}":{"bcdef":[1e400]}}}`)).toEqual(refused('UNSAFE_NUMBER', `/a/${long}`));
    expect(refusalOf(`{"a":{"${'n'.repeat(5000)}":1e400}}`)).toEqual(refused('UNSAFE_NUMBER', '/a'));
  });
});

describe('parsing a body in two turns', () => {
  it('starts the second turn when it is granted', async () => {
    let give = () => {};
    const given = new Promise<void>((resolve) => (give = resolve));
    const parsed = parseStrictInTurns(Buffer.from('{"a":1}'), () => given);
    expect(await Promise.race([parsed, Promise.resolve('not yet')])).toBe('not yet');
    give();
    expect(await parsed).toEqual({ a: 1 });
  });

  it('does not wait for it to reject a body', async () => {
    const never = () => new Promise<void>(() => {});
    await expect(parseStrictInTurns(Buffer.from('{"a":1,"a":1}'), never)).rejects.toMatchObject({
      code: 'DUPLICATE_MEMBER',
    });
  });
});
