import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import fc from 'fast-check';
import {
  DEFAULT_LIMITS,
  parseSubmission,
  readSubmission,
  stripSensitive,
  type ReadingRules,
} from './read-submission.ts';

const envelope: ReadingRules = { record: 'envelope', limits: DEFAULT_LIMITS };
const whole: ReadingRules = { record: 'whole', defaultType: 'github', limits: DEFAULT_LIMITS };
const plain = { id: undefined, type: 'unknown', owner: null, extra: null, targetChannels: undefined };

const read = (text: string, rules = envelope) => readSubmission(Buffer.from(text), rules);

describe('reading a body', () => {
  it('strips data and the members beside it, and makes both canonical', () => {
    const text =
      '{"assets":[{"data":{"b":1.0,"a":{"cvv":2},"password":3},"ssn":4},{"id":"own","data":{},"z":1,"y":[2]}]}';
    expect(read(text)).toEqual({
      kind: 'write',
      records: [
        { ...plain, data: '{"a":{},"b":1}' },
        { ...plain, data: '{}', id: 'own', extra: '{"y":[2],"z":1}' },
      ],
      strippedFields: 3,
    });
  });

  it('counts stripped members wherever they are, and keeps no empty extra', () => {
    expect(read('{"data":{"x":[{"SSN":1}]},"PassWord":{"cvv":1}}')).toEqual({
      kind: 'write',
      records: [{ ...plain, data: '{"x":[{}]}' }],
      strippedFields: 2,
    });
    expect(read('[1,{"cvv":1}]')).toEqual({
      kind: 'write',
      records: [{ ...plain, data: '{"value":[1,{}]}' }],
      strippedFields: 1,
    });
  });

  it('recognises a ping, and a key that stores records whole', () => {
    expect(read('{"type":"ping"}')).toEqual({ kind: 'ping' });
    expect(read('{"id":7,"data":"text"}', whole)).toEqual({
      kind: 'write',
      records: [{ ...plain, type: 'github', data: '{"data":"text","id":7}' }],
      strippedFields: 0,
    });
  });

  it.each([
    ['{"id":7,', 'INVALID_JSON', ''],
    ['{"id":7,"id":8}', 'DUPLICATE_MEMBER', '/id'],
    ['{"id":7,"n":1e400}', 'UNSAFE_NUMBER', '/n'],
    [`{"id":7,"n":${'['.repeat(64)}${']'.repeat(64)}}`, 'JSON_TOO_DEEP', `/n${'/0'.repeat(63)}`],
    ['{"id":7}', 'INVALID_REQUEST', '/id'],
  ])('refuses %s: JSON errors first, then the shape', (text, code, pointer) => {
    const faults = [expect.objectContaining({ in: 'body', pointer })];
    expect(() => read(text)).toThrow(expect.objectContaining({ code, faults }));
  });

  it('refuses more records than the limit', () => {
    expect(() =>
      read('{"assets":[1,2,3]}', { ...envelope, limits: { ...DEFAULT_LIMITS, maxBatchRecords: 2 } }),
    ).toThrow(expect.objectContaining({ code: 'BATCH_TOO_LARGE' }));
  });
});

const parse = (body: JsonValue, rules = envelope) => parseSubmission(body, rules);

function faultsOf(body: JsonValue): string[] {
  try {
    parse(body);
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).code).toBe('INVALID_REQUEST');
    return ((error as AppError).faults ?? []).map(({ pointer }) => pointer);
  }
  throw new Error('The body was taken.');
}

describe('the kind of a body', () => {
  it('a ping: type is exactly "ping" and there are no assets', () => {
    expect(parse({ type: 'ping', id: 7 })).toEqual({ kind: 'ping' });
    expect(parse({ type: 'Ping' })).toEqual({ kind: 'write', records: [{ ...plain, data: {}, type: 'Ping' }] });
    expect(faultsOf({ type: 'ping', assets: [{}] })).toEqual(['/type']);
  });

  it('a record: the other members are data where there is none, and extra where there is', () => {
    expect(parse({ id: 'a', type: 't', owner: 'o', x: 1 })).toEqual({
      kind: 'write',
      records: [{ ...plain, id: 'a', type: 't', owner: 'o', data: { x: 1 } }],
    });
    expect(parse({ data: { y: 2 }, x: 1, targetChannels: ['b', 'a'] })).toEqual({
      kind: 'write',
      records: [{ ...plain, data: { y: 2 }, extra: { x: 1 }, targetChannels: ['b', 'a'] }],
    });
    expect(parse({})).toEqual({ kind: 'write', records: [{ ...plain, data: {} }] });
  });

  it.each<[JsonValue]>([[[1, 2]], ['text'], [7], [null], [false]])('bare JSON: %j', (body) => {
    expect(parse(body)).toEqual({ kind: 'write', records: [{ ...plain, data: { value: body } }] });
  });

  it('a batch: elements of any form, bare JSON included', () => {
    const submission = parse({ assets: [{ id: 'a', n: 1 }, [3], { type: 'ping' }] });
    expect(submission).toEqual({
      kind: 'write',
      records: [
        { ...plain, id: 'a', data: { n: 1 } },
        { ...plain, data: { value: [3] } },
        { ...plain, data: {}, type: 'ping' },
      ],
    });
  });

  it('a whole record, for a key with that setting: its members have no meaning', () => {
    const body = { id: 7, data: 'text', type: ['x'], targetChannels: 'no' };
    expect(parse(body, whole)).toEqual({ kind: 'write', records: [{ ...plain, type: 'github', data: body }] });
    expect(parse({ type: 'ping' }, whole)).toEqual({ kind: 'ping' });
    expect(parse({ assets: [{ n: 1 }] }, whole)).toEqual({ kind: 'write', records: [{ ...plain, data: { n: 1 } }] });
    expect(parse({}, { record: 'whole', limits: DEFAULT_LIMITS })).toEqual({
      kind: 'write',
      records: [{ ...plain, data: {} }],
    });
  });
});

describe('shapes that are refused, all faults at once', () => {
  it.each<[string, JsonValue, string[]]>([
    ['an id that is a number', { id: 7 }, ['/id']],
    ['an empty id', { id: '' }, ['/id']],
    ['an id that is a dot segment', { assets: [{ id: '.' }, { id: '..' }] }, ['/assets/0/id', '/assets/1/id']],
    ['an id with a control character', { id: 'a\u007f' }, ['/id']],
    ['an id that is too long', { id: 'x'.repeat(257) }, ['/id']],
    ['a null type', { type: null }, ['/type']],
    ['a type that is too long', { type: 'x'.repeat(129) }, ['/type']],
    ['an owner that is an object', { owner: {} }, ['/owner']],
    ['data that is an array', { data: [] }, ['/data']],
    ['data that is null', { data: null }, ['/data']],
    ['no channel', { targetChannels: [] }, ['/targetChannels']],
    ['nine channels', { targetChannels: [...'abcdefghi'] }, ['/targetChannels']],
    ['a channel twice', { targetChannels: ['a', 'b', 'a'] }, ['/targetChannels/2']],
    ['a channel that is a number', { targetChannels: [1] }, ['/targetChannels/0']],
    ['several', { id: 1, type: 2, owner: 3, data: 4 }, ['/id', '/type', '/owner', '/data']],
    ['assets that are no array', { assets: {} }, ['/assets']],
    ['an empty batch', { assets: [] }, ['/assets']],
    ['a member beside assets', { assets: [{}], 'a/b~': 1 }, ['/a~1b~0']],
    ['faults in elements', { assets: [{ id: 1 }, { type: '' }] }, ['/assets/0/id', '/assets/1/type']],
    ['an id twice', { assets: [{ id: 'a' }, {}, { id: 'a' }] }, ['/assets/2/id']],
  ])('%s', (_, body, pointers) => {
    expect(faultsOf(body)).toEqual(pointers);
  });

  it('counts code points: 256 of them outside the BMP are one id', () => {
    expect(parse({ id: '😀'.repeat(256) })).toMatchObject({ kind: 'write' });
    expect(faultsOf({ id: '😀'.repeat(257) })).toEqual(['/id']);
  });

  it('refuses 101 records as a batch that is too large, and takes 100', () => {
    expect(parse({ assets: Array.from({ length: 100 }, () => ({})) })).toMatchObject({ kind: 'write' });
    expect(() => parse({ assets: Array.from({ length: 101 }, () => ({})) })).toThrow(
      expect.objectContaining({ code: 'BATCH_TOO_LARGE' }),
    );
  });
});

describe('stripping', () => {
  it.each(['password', 'ssn', 'social_security_number', 'credit_card', 'credit_card_number', 'cvv', 'PASSWORD', 'Cvv'])(
    'removes %s',
    (name) => {
      expect(stripSensitive({ [name]: 'secret', kept: 1 })).toEqual({ value: { kept: 1 }, removed: 1 });
    },
  );

  it.each(['passwords', 'pass_word', ' ssn', 'ſsn', 'cvv2', 'credit-card', 'password_hash'])(
    'keeps %s: names are exact, and only ASCII folds',
    (name) => {
      expect(stripSensitive({ [name]: 1 })).toEqual({ value: { [name]: 1 }, removed: 0 });
    },
  );

  it('reaches any depth, through arrays too, and counts a member with its content once', () => {
    const value = { a: [{ cvv: 1, b: [[{ SSN: { password: 2 } }]] }], password: { cvv: 1 } };
    expect(stripSensitive(value)).toEqual({ value: { a: [{ b: [[{}]] }] }, removed: 3 });
  });

  it('returns a value without sensitive members uncopied', () => {
    const value = { a: [{ b: 1 }], c: null };
    expect(stripSensitive(value).value).toBe(value);
  });

  it('does not change its input', () => {
    const value = { a: [{ cvv: 1 }] };
    stripSensitive(value);
    expect(value).toEqual({ a: [{ cvv: 1 }] });
  });

  it('takes one pass at any depth', () => {
    let value: JsonValue = { cvv: 1 };
    for (let depth = 0; depth < 60; depth += 1) value = { kept: depth, inner: value };
    expect(stripSensitive(value).removed).toBe(1);
  });

  it('leaves nothing to strip, for every JSON value', () => {
    const names = fc.oneof(fc.constantFrom('password', 'SSN', 'cvv', 'x'), fc.string());
    const json = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.integer(),
        fc.string(),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(names, tie('value'), { maxKeys: 4, noNullPrototype: true }),
      ),
    })).value;
    fc.assert(
      fc.property(json, (value) => {
        const once = stripSensitive(value);
        expect(stripSensitive(once.value)).toEqual({ value: once.value, removed: 0 });
      }),
    );
  });
});
