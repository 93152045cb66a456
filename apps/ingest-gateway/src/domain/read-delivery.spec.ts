import { describe, expect, it } from '@jest/globals';
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

  it('is a challenge only where the scheme has challenges', () => {
    const body = '{"type":"url_verification","challenge":"3eZbrw1a","token":"x"}';
    expect(read(body, { answersChallenge: true }).challenge).toBe('3eZbrw1a');
    expect(read(body).challenge).toBeUndefined();
    expect(read('{"type":"event_callback","challenge":"x"}', { answersChallenge: true }).challenge).toBeUndefined();
    expect(read('{"type":"url_verification","challenge":7}', { answersChallenge: true }).challenge).toBeUndefined();
  });

  it.each<[string, string, string | Buffer, Partial<DeliveryRules>]>([
    ['nothing', 'INVALID_JSON', '', {}],
    ['a member twice', 'DUPLICATE_MEMBER', '{"a":1,"a":2}', {}],
    ['an unsafe number', 'UNSAFE_NUMBER', '{"a":9007199254740993}', {}],
    ['a payload that is no strict JSON', 'DUPLICATE_MEMBER', 'payload={"a":1,"a":2}', { form: 'form' }],
    ['a form with __proto__', 'INVALID_JSON', '__proto__=1', { form: 'form' }],
    ['a form of too many members', 'INVALID_JSON', 'a=&'.repeat(1001), { form: 'form' }],
    ['text that is no UTF-8', 'INVALID_JSON', Buffer.from([0xff]), { form: 'text' }],
    ['a form that is no UTF-8', 'INVALID_JSON', Buffer.from([0x61, 0x3d, 0xff]), { form: 'form' }],
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
