import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonical, type JsonValue } from '@sealgate/json';
import { MAX_ARGUMENT_BYTES, parseRecords } from './parse-records.ts';
import { Refusal } from './refusal.ts';

const good = { id: 'a', type: 't', owner: null, data: '{}', extra: null };
const refusal = (argument: string): Refusal => {
  try {
    parseRecords(argument);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('It was accepted.');
};

describe('parseRecords', () => {
  it.each<[string, string, RegExp]>([
    ['no JSON', '[{', /argument is not strict JSON: INVALID_JSON/],
    ['a member twice', '[{"id":"a","id":"b"}]', /DUPLICATE_MEMBER/],
    ['no list', '{}', /not an array/],
    ['an empty list', '[]', /holds 0 records/],
    ['too many', JSON.stringify(Array.from({ length: 1001 }, (_, n) => ({ ...good, id: String(n) }))), /holds 1001/],
    ['null for a record', '[null]', /records\[0\] is not an object/],
    ['a list for a record', '[[]]', /records\[0\] is not an object/],
    ['a missing member', '[{"id":"a","type":"t","owner":null,"data":"{}"}]', /records\[0\] has other members/],
    ['a member too many', JSON.stringify([{ ...good, salt: '' }]), /records\[0\] has other members/],
    ['an id of a number', JSON.stringify([{ ...good, id: 1 }]), /records\[0\]\.id is not a text/],
    ['an id of null', JSON.stringify([{ ...good, id: null }]), /records\[0\]\.id is not a text/],
    ['an empty id', JSON.stringify([{ ...good, id: '' }]), /records\[0\]\.id is not 1 to 512/],
    ['a type that is too long', JSON.stringify([{ ...good, type: 'é'.repeat(257) }]), /type is not 1 to 256/],
    ['an owner that is too long', JSON.stringify([{ ...good, owner: 'o'.repeat(257) }]), /owner is not 1 to 256/],
    ['an empty owner', JSON.stringify([{ ...good, owner: '' }]), /owner is not 1 to 256/],
    ['a control character', JSON.stringify([{ ...good, owner: '\n' }]), /owner holds a control character/],
    ['data that is no text', JSON.stringify([{ ...good, data: {} }]), /data is not a text of JSON/],
    ['data of null', JSON.stringify([{ ...good, data: null }]), /data is not a text of JSON/],
    ['data that is no JSON', JSON.stringify([{ ...good, data: 'x' }]), /data is not strict JSON: INVALID_JSON/],
    ['data with blanks', JSON.stringify([{ ...good, data: '{ }' }]), /data is not in canonical form/],
    ['data in another order', JSON.stringify([{ ...good, data: '{"b":1,"a":2}' }]), /data is not in canonical form/],
    ['a number that cannot be kept', JSON.stringify([{ ...good, data: '9007199254740993' }]), /UNSAFE_NUMBER/],
    ['extra with blanks', JSON.stringify([{ ...good, extra: '[ ]' }]), /extra is not in canonical form/],
    ['the same id twice', JSON.stringify([good, { ...good, data: '[]' }]), /records\[1\]\.id stands twice/],
  ])('rejects %s', (_what, argument, why) => {
    expect(refusal(argument).code).toBe('INVALID_REQUEST');
    expect(refusal(argument).facts['detail']).toMatch(why);
  });

  it('rejects an argument above the limit of an orderer', () => {
    const data = JSON.stringify('x'.repeat(MAX_ARGUMENT_BYTES));
    expect(refusal(JSON.stringify([{ ...good, data }])).facts['detail']).toMatch(/longer than 10485760 bytes/);
  });

  it('names the location of a fault without quoting the input', () => {
    const { message } = refusal(JSON.stringify([good, { ...good, id: 'b', data: '{"secret" : 1}' }]));
    expect(message).toContain('records[1].data');
    expect(message).not.toContain('secret');
  });

  it('accepts exactly 1000 records', () => {
    const records = Array.from({ length: 1000 }, (_, n) => ({ ...good, id: String(n) }));
    expect(parseRecords(JSON.stringify(records))).toHaveLength(1000);
  });

  it('hashes the content without the id', () => {
    const content = fc.record({
      type: fc.constantFrom('t', 'u'),
      owner: fc.constantFrom(null, 't', 'null'),
      // Strict JSON itself rejects a member `__proto__`.
      data: fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('__proto__')),
      extra: fc.constantFrom(null, '', 't', {}, []),
    });
    const parse = (
      id: string,
      { type, owner, data, extra }: { type: string; owner: string | null; data: unknown; extra: unknown },
    ) =>
      parseRecords(
        JSON.stringify([{ id, type, owner, data: canonical(data as JsonValue), extra: canonical(extra as JsonValue) }]),
      )[0]!.contentHash;
    fc.assert(
      fc.property(content, content, (left, right) => {
        const same = canonical(left as JsonValue) === canonical(right as JsonValue);
        expect(parse('a', left) === parse('b', right)).toBe(same);
      }),
    );
  });
});
