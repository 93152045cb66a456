import { describe, expect, it } from '@jest/globals';
import { canonical, type JsonValue } from '@sealgate/json';
import fc from 'fast-check';
import { readDelivery, valueAt, type DeliveryRules } from './read-delivery.ts';

const rules: DeliveryRules = {
  form: 'json',
  type: { pointer: '/type' },
  id: null,
  owner: null,
  deliveryId: { pointer: '/id' },
  answersChallenge: false,
};

const read = (body: string | Buffer, changes: Partial<DeliveryRules> = {}) =>
  readDelivery(Buffer.from(body), { ...rules, ...changes });
const codeOf = (body: string | Buffer, changes: Partial<DeliveryRules> = {}): unknown => {
  try {
    return read(body, changes);
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('the body of a delivery', () => {
  it('is kept as a whole, whatever its members mean elsewhere', () => {
    const body = { id: 7, type: 'ping', data: [1], assets: [], owner: {}, targetChannels: 'x' };
    const { data, ...rest } = read(JSON.stringify(body));
    expect(JSON.parse(data)).toEqual(body);
    expect(rest).toEqual({
      kind: 'delivery',
      id: undefined,
      type: 'ping',
      owner: null,
      deliveryId: '7',
      challenge: undefined,
      strippedFields: 0,
    });
  });

  it('is wrapped where it is not an object', () => {
    expect(read('[1,2]').data).toBe('{"value":[1,2]}');
    expect(read('null').data).toBe('{"value":null}');
    expect(read('a\u0000 "text"', { form: 'text' }).data).toBe('{"value":"a\\u0000 \\"text\\""}');
    expect(read('', { form: 'text' }).data).toBe('{"value":""}');
  });

  it('contains the members of a form, with a JSON payload parsed', () => {
    expect(JSON.parse(read('a=1&b=%C3%A4+x&a=2&a=3&c', { form: 'form' }).data)).toEqual({
      a: ['1', '2', '3'],
      b: 'ä x',
      c: '',
    });
    const payload = encodeURIComponent('{"type":"push","n":1}');
    const form = read(`payload=${payload}`, { form: 'form', type: { pointer: '/payload/type' } });
    expect(form).toMatchObject({ type: 'push', data: '{"payload":{"n":1,"type":"push"}}' });
    expect(read('payload=hello', { form: 'form' }).data).toBe('{"payload":"hello"}');
  });

  it('that is JSON under the media type of forms is stripped as JSON', () => {
    const body = '{"password":"SEKRIT","a":1,"b":"x=y&z"}';
    const encoded = encodeURIComponent(body);
    for (const sent of [body, `\n ${body}\n`, encoded, `${encoded}=`, ` ${encoded}`])
      expect(read(sent, { form: 'form' })).toMatchObject({ data: '{"a":1,"b":"x=y&z"}', strippedFields: 1 });
    expect(read('[{"password":"SEKRIT","a":1}]', { form: 'form' }).data).toBe('{"value":[{"a":1}]}');
    const unsafe = '{"password":"SEKRIT","n":9007199254740993}';
    expect(read(unsafe, { form: 'form' })).toMatchObject({ data: '{"value":"{\\"n\\":9007199254740993}"}' });
    // Forms all the same: no JSON, or with members beside it.
    expect(read('{a', { form: 'form' }).data).toBe('{"{a":""}');
    const secret = encodeURIComponent('{"password":"SEKRIT","a":1}');
    for (const sent of ['{%22password%22:1,"a":1}', `%20${secret}`, `%0A${secret}`, `&${secret}=&`])
      expect(read(sent, { form: 'form' })).toMatchObject({ data: '{"a":1}', strippedFields: 1 });
    expect(read(`%EF%BB%BF${secret}`, { form: 'form' })).toMatchObject({
      data: '{"value":"\ufeff{\\"a\\":1}"}',
      strippedFields: 1,
    });
  });

  it('that is a form with JSON among its names is stripped there, too', () => {
    const name = encodeURIComponent('{"password":"SEKRIT","a":1}');
    expect(read(`b=1&${name}=2&${name}`, { form: 'form' })).toMatchObject({
      data: '{"b":"1","{\\"a\\":1}":["2",""]}',
      strippedFields: 2,
    });
    const unsafe = encodeURIComponent('{"pin":9007199254740993,"cvv":1}');
    expect(read(`b=1&${unsafe}`, { form: 'form' })).toMatchObject({
      data: '{"b":"1","{\\"pin\\":9007199254740993}":""}',
      strippedFields: 1,
    });
    expect(read(`b=1&${encodeURIComponent('{ "a" : 1 }')}`, { form: 'form' }).data).toBe(
      '{"b":"1","{ \\"a\\" : 1 }":""}',
    );
    expect(read('a', { form: 'form' }).data).toBe('{"a":""}');
  });

  it('is stripped of sensitive members before anything is read from it', () => {
    const body = { type: 't', password: 'geheim', in: [{ CVV: 1 }] };
    expect(read(JSON.stringify(body), { owner: { pointer: '/password' } })).toMatchObject({
      data: '{"in":[{}],"type":"t"}',
      owner: null,
      strippedFields: 2,
    });
  });

  it('gives type, id and owner from the configured places', () => {
    const body = JSON.stringify({ a: { 'x/y': ['', { '~': 'mine' }] }, n: 12 });
    expect(
      read(body, { type: { text: 'push' }, id: { pointer: '/n' }, owner: { pointer: '/a/x~1y/1/~0' } }),
    ).toMatchObject({
      type: 'push',
      id: '12',
      owner: 'mine',
    });
    expect(read(body)).toMatchObject({ type: 'unknown', deliveryId: undefined });
  });

  it('has the type unknown, or that of its CloudEvent, where its place has an empty text or nothing', () => {
    for (const body of ['{"type":""}', '{}', '{"type":null}', '{"type":"","n":9007199254740993}']) {
      expect(read(body).type).toBe('unknown');
      expect(read(body, { typeOtherwise: 'made' }).type).toBe('made');
    }
    expect(read('{}', { type: { text: '' } }).type).toBe('unknown');
    expect(read('{}', { type: null, typeOtherwise: 'made' }).type).toBe('made');
    // The siblings: no owner, a delivery that is identified by its bytes, and no id where one is required.
    const empty = '{"id":"","type":"","owner":""}';
    expect(read(empty, { owner: { pointer: '/owner' } })).toMatchObject({ owner: null, deliveryId: undefined });
    expect(codeOf(empty, { id: { pointer: '/id' } })).toBe('INVALID_REQUEST');
    expect(read('{"type":"own"}', { typeOtherwise: 'made' }).type).toBe('own');
  });

  it('that is a form is read as browsers read it, where it is UTF-8', () => {
    const encoded = fc.array(
      fc.constantFrom('%41', '%C3%A4', '%', '%4', '%zz', '+', '=', '&', 'g', '%F0%9F%98%80', '%EF%BF%BD'),
    );
    fc.assert(
      fc.property(encoded, (parts) => {
        const text = parts.join('');
        const members = new URLSearchParams(text);
        const wanted = [...members].map(([, value]) => value).toSorted();
        const { data } = read(text, { form: 'form', type: null, deliveryId: null });
        expect((Object.values(JSON.parse(data) as object) as string[]).flat().toSorted()).toEqual(wanted);
      }),
    );
    // Node's URLSearchParams reads this as U+FFFD and %4A.
    expect(read('a=ä%4A', { form: 'form' }).data).toBe('{"a":"äJ"}');
  });

  it('is a challenge only where the scheme has challenges', () => {
    const body = '{"type":"url_verification","challenge":"3eZbrw1a","token":"x"}';
    expect(read(body, { answersChallenge: true }).challenge).toBe('3eZbrw1a');
    expect(read(body).challenge).toBeUndefined();
    expect(read('{"type":"event_callback","challenge":"x"}', { answersChallenge: true }).challenge).toBeUndefined();
    expect(read('{"type":"url_verification","challenge":7}', { answersChallenge: true }).challenge).toBeUndefined();
  });

  it.each<[string, string, string | Buffer, Partial<DeliveryRules>]>([
    ['nothing', 'INVALID_JSON', '', {}],
    ['what is no JSON', 'INVALID_JSON', '{"a":1', {}],
    ['an unsafe number in what is no JSON', 'INVALID_JSON', '{"a":9007199254740993', {}],
    ['JSON that is no UTF-8', 'INVALID_JSON', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), {}],
    ['a number that is no whole one, as it is written', 'INVALID_REQUEST', '{"id":1.5,"n":1e999}', {}],
    ['a form with __proto__', 'INVALID_JSON', '__proto__=1', { form: 'form' }],
    ['a form of too many members', 'INVALID_JSON', 'a=&'.repeat(1001), { form: 'form' }],
    ['text that is no UTF-8', 'INVALID_JSON', Buffer.from([0xff]), { form: 'text' }],
    ['a form that is no UTF-8', 'INVALID_JSON', Buffer.from([0x61, 0x3d, 0xff]), { form: 'form' }],
    ['a form with an encoded byte that is no UTF-8', 'INVALID_JSON', 'a=%FF', { form: 'form' }],
    ['a form whose name has half of a character', 'INVALID_JSON', 'a%C3=1', { form: 'form' }],
    ['a form with half of a surrogate pair', 'INVALID_JSON', 'a=%ED%A0%80', { form: 'form' }],
    ['a form with an overlong slash', 'INVALID_JSON', 'a=%C0%AF', { form: 'form' }],
    ['a type that is an object', 'INVALID_REQUEST', '{"type":{}}', {}],
    ['a type with a line break', 'INVALID_REQUEST', '{"type":"a\\nb"}', {}],
    ['a type that is too long', 'INVALID_REQUEST', JSON.stringify({ type: 'x'.repeat(129) }), {}],
    ['a delivery id that is a fraction', 'INVALID_REQUEST', '{"id":1.5}', {}],
    ['no id where the source asks for one', 'INVALID_REQUEST', '{}', { id: { pointer: '/n' } }],
    ['an id that no path could name', 'INVALID_REQUEST', '{"n":".."}', { id: { pointer: '/n' } }],
  ])('is refused: %s', (_what, code, body, changes) => {
    expect(codeOf(body, changes)).toBe(code);
  });
});

const SHOPIFY = '{"id":820982911946154508,"email":"x@example.com","line_items":[]}';

describe('JSON that is not strict', () => {
  it('is kept exactly as text, with the reason', () => {
    expect(read(SHOPIFY)).toEqual({
      kind: 'delivery',
      id: undefined,
      type: 'unknown',
      owner: null,
      data: JSON.stringify({ value: SHOPIFY }),
      deliveryId: '820982911946154508',
      challenge: undefined,
      strippedFields: 0,
      unparsed: 'UNSAFE_NUMBER',
    });
  });

  it.each([
    ['UNSAFE_NUMBER', '{"a":1e400}'],
    ['DUPLICATE_MEMBER', '{"a":1,"a":2}'],
    ['INVALID_JSON', '{"__proto__":{"a":1}}'],
    ['INVALID_JSON', '{"a":"\\ud800"}'],
    ['INVALID_JSON', '\ufeff{"a":1}'],
    ['JSON_TOO_DEEP', '['.repeat(100_000) + ']'.repeat(100_000)],
  ])('is kept for %s: %.20s', (reason, body) => {
    expect(read(body)).toMatchObject({ data: JSON.stringify({ value: body }), unparsed: reason });
  });

  it('loses its sensitive members, also under escaped names, and nothing else', () => {
    const body = '{ "n":1e400, "passwor\\u0064" : {"a":"}"}, "in":[{"CVV":1},{"ssn":2,"\\ud800":"\\ud800"}] }';
    expect(read(body)).toMatchObject({
      data: JSON.stringify({ value: '{ "n":1e400, "in":[{},{"\\ud800":"\\ud800"}] }' }),
      strippedFields: 3,
    });
  });

  it('gives type, id, owner and challenge as they are written, the last duplicate', () => {
    const body =
      '{"type":"x","type":"url_verification","n":9007199254740993,"o":{"m":1},"o":{"m":"half \\ud800"},"challenge":"c"}';
    expect(read(body, { id: { pointer: '/n' }, owner: { pointer: '/o/m' }, answersChallenge: true })).toMatchObject({
      type: 'url_verification',
      id: '9007199254740993',
      owner: 'half \\ud800',
      challenge: 'c',
    });
    expect(read('{"n":1e400,"password":"p"}', { owner: { pointer: '/password' } }).owner).toBeNull();
    expect(read('[{"id":9007199254740993}]', { deliveryId: { pointer: '/value/0/id' } }).deliveryId).toBe(
      '9007199254740993',
    );
  });

  it('is kept as text where it has more values than a process can hold, but not for what its texts hold', () => {
    const many = `{"type":"push","a":[${'{},'.repeat(500_000)}0],"password":"SEKRIT"}`;
    const { data, ...rest } = read(many, { type: { pointer: '/type' } });
    expect(rest).toMatchObject({ type: 'push', unparsed: 'TOO_MANY_VALUES', strippedFields: 1 });
    expect(JSON.parse(data).value).toBe(many.replace(',"password":"SEKRIT"', ''));
    const few = { type: 'push', a: '[{},"\\'.repeat(600_000) };
    expect(JSON.parse(read(JSON.stringify(few)).data)).toEqual(few);
  });

  it('is refused where JSON makes it much larger', () => {
    const text = Buffer.alloc(7 * 1_048_576, 1);
    expect(() => read(text, { form: 'text' })).toThrow(
      expect.objectContaining({
        code: 'PAYLOAD_TOO_LARGE',
        message: 'In JSON its content is more than 41943040 characters.',
      }),
    );
    expect(read(text.subarray(0, 6 * 1_048_576), { form: 'text' }).data).toHaveLength(6 * 6 * 1_048_576 + 12);
    expect(read(Buffer.alloc(25 * 1_048_576, 'x'), { form: 'text' }).data).toHaveLength(25 * 1_048_576 + 12);
    const form = `a=${'%01'.repeat(4 * 1_048_576)}&b=${'%01'.repeat(4 * 1_048_576)}`;
    expect(() => read(form, { form: 'form' })).toThrow('In JSON its content');
  });

  it('is kept as text within a form and within a text', () => {
    const form = `a=1&payload=${encodeURIComponent('{"type":"push","n":9007199254740993,"cvv":1}')}`;
    expect(read(form, { form: 'form', type: { pointer: '/payload/type' } })).toMatchObject({
      data: '{"a":"1","payload":"{\\"type\\":\\"push\\",\\"n\\":9007199254740993}"}',
      type: 'push',
      strippedFields: 1,
      unparsed: 'UNSAFE_NUMBER',
    });
    const hidden = read('password={"a":1,"a":2}', { form: 'form', owner: { pointer: '/password/a' } });
    expect(hidden).toMatchObject({ data: '{}', owner: null, strippedFields: 1 });
    expect(hidden.unparsed).toBeUndefined();
    expect(read(SHOPIFY, { form: 'text' })).toMatchObject({ data: JSON.stringify({ value: SHOPIFY }) });
  });

  it('is not what only looks like JSON within a form or a text', () => {
    expect(read('payload={"a":&b=[1', { form: 'form' }).data).toBe('{"b":"[1","payload":"{\\"a\\":"}');
    expect(read('[INFO] started', { form: 'text' }).data).toBe('{"value":"[INFO] started"}');
  });

  it('is stripped to the same value as strict JSON', () => {
    const key = fc.oneof(fc.constantFrom('password', 'CVV', 'ssn', 'a', 'Credit_Card'), fc.string({ maxLength: 3 }));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(1, 'x', null, true),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(key, value, { maxKeys: 4 }), fc.constantFrom(0, 1, 3), (members, indent) => {
        fc.pre(!JSON.stringify(members).includes('__proto__'));
        const text = JSON.stringify(members, null, indent);
        const strict = read(text, { type: null, deliveryId: null });
        // A byte order mark is the least that makes it text.
        const kept = read(`\ufeff${text}`, { type: null, deliveryId: null });
        const { value: inner } = JSON.parse(kept.data) as { value: string };
        expect(canonical(JSON.parse(inner.slice(1)) as JsonValue)).toBe(strict.data);
        expect(kept.strippedFields).toBe(strict.strippedFields);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a pointer', () => {
  it.each([
    ['/a/0', 1],
    ['/a/01', undefined],
    ['/a/-', undefined],
    ['/a/length', undefined],
    ['/toString', undefined],
    ['/a/0/b', undefined],
    ['/', 'empty'],
  ])('%s finds %p', (pointer, found) => {
    expect(valueAt({ a: [1], '': 'empty' }, pointer)).toBe(found);
  });
});
