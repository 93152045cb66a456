import { createHash } from 'node:crypto';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import fc from 'fast-check';
import { canonical, canonicalHash, sha256, type JsonValue } from './canonical.ts';
import { parseStrict } from './parse-strict.ts';

/** Bypasses the type, for values that a mistake could pass. */
const untyped = (value: unknown) => value as JsonValue;

/** A slow reference implementation. */
function plainly(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(plainly).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${plainly(value[name] ?? null)}`);
  return `{${members.join(',')}}`;
}

const jsonValue = fc.jsonValue({ stringUnit: 'binary', depthSize: 'large', maxDepth: 5 });

function outcomeOf(work: () => string): string {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

function doubleOf(hex: string): number {
  return Buffer.from(hex, 'hex').readDoubleBE();
}

describe('canonical', () => {
  /** Bodies and canonical forms of the test files that RFC 8785 names in its appendix F. */
  it.each([
    [
      'values',
      String.raw`{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
      }`,
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
        String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    ],
    [
      'structures',
      String.raw`{"1":{"f":{"f":"hi","F":5},"\n":56.0},"10":{},"":"empty","a":{},"111":[{"e":"yes","E":"no"}],"A":{}}`,
      String.raw`{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}`,
    ],
    ['arrays', '[56, {"d": true, "10": null, "1": [ ]}]', '[56,{"1":[],"10":null,"d":true}]'],
    ['unicode', String.raw`{"Unnormalized Unicode":"A\u030a"}`, '{"Unnormalized Unicode":"A\u030a"}'],
    [
      'weird',
      String.raw`{"\u20ac":"€","\r":"CR","\u000a":"LF","1":"One","\u0080":"Control\u007f","\ud83d\ude02":"Smiley"}`,
      String.raw`{"\n":"LF","\r":"CR","1":"One",` + '"\u0080":"Control\u007f","€":"€","\u{1f602}":"Smiley"}',
    ],
  ])('writes the RFC 8785 test file %s, which strict parsing accepts', (_name, body, form) => {
    expect(canonical(parseStrict(Buffer.from(body)))).toBe(form);
  });

  it('orders members by UTF-16 code units, as in RFC 8785, section 3.2.3', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect([...canonical(value).matchAll(/:"(.*?)"/g)].map((match) => match[1])).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
  });

  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('prints the double %s of RFC 8785, appendix B, as %s', (hex, printed) => {
    expect(canonical(doubleOf(hex))).toBe(printed);
    expect(canonical(parseStrict(Buffer.from(printed)))).toBe(printed);
  });

  it.each(['7fffffffffffffff', '7ff0000000000000', 'fff0000000000000'])('rejects the double %s', (hex) => {
    expect(() => canonical([doubleOf(hex)])).toThrow(TypeError);
  });

  it('writes all spellings of a number alike, and keeps them when parsed again', () => {
    const digits = fc.stringMatching(/^[1-9][0-9]{0,16}$/);
    fc.assert(
      fc.property(digits, fc.integer({ min: 1, max: 20 }), (whole, scale) => {
        const spellings = [
          `${whole}e-${scale}`,
          `${whole}00E-${scale + 2}`,
          `0.${'0'.repeat(scale)}${whole}e+${whole.length}`,
        ];
        const forms = spellings.map((token) => outcomeOf(() => canonical(parseStrict(Buffer.from(token)))));
        expect(forms[1]).toBe(forms[0]);
        expect(forms[2]).toBe(forms[0]);
        const [form = ''] = forms;
        if (form !== 'UNSAFE_NUMBER') expect(canonical(parseStrict(Buffer.from(form)))).toBe(form);
      }),
      { numRuns: 1000 },
    );
  });

  it('orders members that look like indexes as text, although objects list them as numbers', () => {
    expect(canonical({ b: 1, '10': 2, '9': 3, '': 4 })).toBe('{"":4,"10":2,"9":3,"b":1}');
  });

  it('orders few members and many alike', () => {
    for (const count of [1, 2, 15, 16, 17, 18, 300]) {
      const names = Array.from({ length: count }, (_, index) => `m${(index * 7919) % 1009}`);
      const expected = [...names].sort().map((name) => `"${name}":0`);
      expect(canonical(Object.fromEntries(names.map((name) => [name, 0])))).toBe(`{${expected.join(',')}}`);
    }
  });

  it('writes empty containers and scalars', () => {
    expect(canonical([{}, [], '', null, true, false, 0])).toBe('[{},[],"",null,true,false,0]');
  });

  it('writes strings of every length and alphabet unchanged', () => {
    for (const unit of ['x', 'ü', '€', '😀', '"', '\\', '\u0000', '\u007f', '\u2028', '\ufffd']) {
      for (const count of [0, 1, 31, 63, 64, 65, 70_000]) {
        const text = unit.repeat(count);
        expect(canonical({ [text]: text }) === `{${JSON.stringify(text)}:${JSON.stringify(text)}}`).toBe(true);
      }
    }
  });

  it('writes a value larger than any retained buffer, and small ones after it', () => {
    const large = Array.from({ length: 300_000 }, (_, index) => index);
    expect(canonical(large) === JSON.stringify(large)).toBe(true);
    expect(canonical({ b: 1, a: 2 })).toBe('{"a":2,"b":1}');
  });

  it('agrees with the reference implementation on every value', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(canonical(untyped(value))).toBe(plainly(untyped(value)));
      }),
      { numRuns: 500 },
    );
  });

  it('depends on the value alone: parsing and writing again changes nothing, nor does member order', () => {
    const reversed = (value: JsonValue): JsonValue => {
      if (Array.isArray(value)) return value.map(reversed);
      if (value === null || typeof value !== 'object') return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([name, member]) => [name, reversed(member)]),
      );
    };
    fc.assert(
      fc.property(jsonValue, (value) => {
        const text = canonical(untyped(value));
        expect(canonical(untyped(JSON.parse(text)))).toBe(text);
        expect(canonical(reversed(untyped(value)))).toBe(text);
      }),
    );
  });

  it.each([
    ['half of a surrogate pair', 'a\ud800'],
    ['the other half', '\udc00b'],
    ['a pair the wrong way round', '\udc00\ud800'],
  ])('rejects %s in a string and in a name, short and long', (_what, text) => {
    for (const refused of [text, text + 'x'.repeat(100)]) {
      expect(() => canonical([refused])).toThrow(TypeError);
      expect(() => canonical({ [refused]: 1 })).toThrow(TypeError);
    }
    expect(canonical(['still', 'works'])).toBe('["still","works"]');
  });

  it.each([
    ['undefined', undefined],
    ['a hole', Array(1)],
    ['a member that is undefined', { a: undefined }],
    ['a bigint', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a Date', new Date(0)],
    ['a Map', new Map()],
    ['bytes', new Uint8Array(2)],
    ['an instance of a class', new (class Thing {})()],
  ])('rejects %s, which is not a JSON value', (_what, value) => {
    expect(() => canonical(untyped(value))).toThrow(TypeError);
  });

  it('accepts objects without a prototype, and plain ones of another realm', () => {
    expect(canonical(untyped(runInNewContext('({ b: [1], a: {} })')))).toBe('{"a":{},"b":[1]}');
    expect(canonical(untyped(Object.assign(Object.create(null), { b: 1, a: 2 })))).toBe('{"a":2,"b":1}');
  });
});

describe('canonicalHash', () => {
  it('is the SHA-256 of the UTF-8 of the canonical form in lower hex', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const text = plainly(untyped(value));
        expect(canonicalHash(untyped(value))).toBe(createHash('sha256').update(text, 'utf8').digest('hex'));
      }),
    );
  });

  it('equals the published hash of the sample envelope', () => {
    const envelope = {
      snapshotId: 'snap_000000000001',
      contractVersion: 'svc.partner.v1',
      orgId: 'org_demo',
      generatedAt: '2026-01-01T00:00:00.000Z',
      verified_no_npi: true,
      pagination: { limit: 2, count: 1, nextCursor: null },
      items: [
        {
          id: 'ast_01',
          name: 'Zürich edge — «€»',
          type: 'system',
          criticality: 'high',
          ownerId: null,
          ratio: 0.000001,
          score: 1e21,
          tags: [],
          createdAt: '2025-12-31T23:59:59.999Z',
        },
      ],
    };
    expect(canonicalHash(envelope)).toBe('6775b6e1f9e90b4b1f38ca200e7e4d5f70316a232d730967113e628f23951ae0');
  });
});

describe('sha256', () => {
  it('hashes the examples of FIPS 180-4', () => {
    expect(sha256('').toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(sha256('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('hashes a text as its UTF-8, and bytes unchanged', () => {
    expect(sha256('ü€😀')).toEqual(sha256(new TextEncoder().encode('ü€😀')));
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(sha256(bytes)).toEqual(createHash('sha256').update(bytes).digest());
      }),
    );
  });
});
