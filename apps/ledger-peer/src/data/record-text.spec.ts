import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonical, type JsonValue } from '@sealgate/json';
import { textOfStored, withBareNames, type StoredText } from './record-text.ts';

const bare = (text: string): string => text.slice(2);
const textOf = (value: unknown): string | undefined =>
  withBareNames(Buffer.from(canonical(value as JsonValue)), bare)?.text;

describe('the result of our contract', () => {
  const json = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('__proto__'));

  it('keeps everything except id and type', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), json, json, (id, type, data, extra) => {
        const record = { at: 'now', data, extra, owner: null, transactionId: 'ab', version: 1 };
        const text = textOf({ ...record, id: `p/${id}`, type: `p/${type}` });
        expect(JSON.parse(text ?? '')).toEqual(JSON.parse(JSON.stringify({ ...record, id, type })));
      }),
    );
  });

  it('keeps the bytes of the rest, including nested members of the same names', () => {
    const data = '{"9":1,"10":{"a":0,"id":"p/deep"},"q":",\\"id\\":\\"p/x\\"","z":[1e+30,"}",{}]}';
    const owner = '",\\"id\\":\\"p/x\\""';
    const found = withBareNames(Buffer.from(`{"data":${data},"id":"p/é","owner":${owner},"type":"p/t"}`), bare);
    expect(found).toEqual({ text: `{"data":${data},"id":"é","owner":${owner},"type":"t"}`, type: 't' });
  });

  it.each([
    ['no id', '{"data":{},"type":"p/t"}'],
    ['an id at its beginning', '{"id":"p/a","type":"p/t"}'],
    ['an id in its data alone', '{"data":{"a":1,"id":"p/a"},"type":"p/t"}'],
    ['an id in a list alone', '{"data":[{"a":1,"id":"p/a"}]}'],
    ['an id before other content', '{"a":1,"id":"p/a","type":"p/t","z":{"a":1,"id":"p/b"}}'],
    ['no type behind its id', '{"a":"t","id":"p/a"}'],
    ['an id that is a number', '{"a":1,"id":7,"type":"p/t"}'],
  ])('must be parsed if it has %s', (_what, answer) => {
    expect(JSON.parse(answer)).toBeDefined();
    expect(withBareNames(Buffer.from(answer), bare)).toBeUndefined();
  });

  it('with millions of values costs no more than its bytes', () => {
    const answer = Buffer.from(`{"data":[${'{},'.repeat(2_500_000)}{}],"id":"p/a","type":"p/t"}`);
    const before = process.cpuUsage();
    expect(withBareNames(answer, bare)?.text).toHaveLength(answer.length - 4);
    // Parsing and printing it takes more than a second.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(200);
  });
});

describe('a stored record as text', () => {
  const row = (data: JsonValue, more: Partial<StoredText> = {}): StoredText => ({
    channel: 'acme.main',
    idx: '7',
    id: 'a"b',
    type: 'asset',
    owner: null,
    data: canonical(data),
    extra: null,
    erased: false,
    transaction_id: Buffer.alloc(32, 0xab),
    at_ms: '1767323045678',
    ...more,
  });

  it('contains its data byte for byte', () => {
    expect(textOfStored(row({ b: [1.5, 'é'], a: {} }, { owner: 'o', extra: '{"x":1}' }), { index: 7 })).toBe(
      '{"id":"a\\"b","type":"asset","data":{"a":{},"b":[1.5,"é"]},"owner":"o","extra":{"x":1},"channel":"acme.main",' +
        `"index":7,"transactionId":"${'ab'.repeat(32)}","at":"2026-01-02T03:04:05.678Z"}`,
    );
  });

  it('shows its epoch', () => {
    expect(textOfStored(row({}), { index: 2, epoch: 1 })).toContain('"channel":"acme.main","index":2,"epoch":1,');
  });

  it('shows that it was erased, and none of its content', () => {
    expect(textOfStored(row(null, { data: null, erased: true }), { index: 7 })).toBe(
      '{"id":"a\\"b","type":"asset","data":null,"erased":true}',
    );
  });
});
