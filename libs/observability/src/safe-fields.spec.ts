import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { safeFields } from './safe-fields.ts';

const KEY = `svc_${'k'.repeat(43)}`;

function rendered(fields: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify({ first: 0, ...safeFields(fields) }));
}

describe('safeFields', () => {
  it('omits values that JSON cannot represent', () => {
    expect(rendered({ a: undefined, b: () => 1, c: Symbol('c') })).toEqual({ first: 0 });
  });

  it('renders JSON values unchanged, and descriptions of others', () => {
    const fields = {
      text: 'a "quoted" \n line',
      count: 3,
      ratio: 0.5,
      missing: null,
      yes: true,
      list: [1, 'b', undefined],
      big: 12n,
      nan: Number.NaN,
      at: new Date(0),
      never: new Date(Number.NaN),
      bytes: Buffer.from('secret bytes'),
      map: new Map([[1, 2]]),
    };
    expect(rendered(fields)).toEqual({
      first: 0,
      text: 'a "quoted" \n line',
      count: 3,
      ratio: 0.5,
      missing: null,
      yes: true,
      list: [1, 'b', null],
      big: '12',
      nan: 'NaN',
      at: '1970-01-01T00:00:00.000Z',
      never: 'Invalid Date',
      bytes: '[12 bytes]',
      map: '[1 entries]',
    });
  });

  it('redacts secrets by name at any depth', () => {
    const fields = { headers: { 'X-Api-Key': 'a', cookie: ['b'], accept: 'c' }, token: { deep: 1 }, keyId: 'key_1' };
    expect(rendered(fields)).toEqual({
      first: 0,
      headers: { 'X-Api-Key': '[redacted]', cookie: '[redacted]', accept: 'c' },
      token: '[redacted]',
      keyId: 'key_1',
    });
  });

  it('redacts our keys in texts, names and errors', () => {
    const fields = { [KEY]: 1, detail: `x${KEY}y`, error: new Error(`bad ${KEY}`, { cause: new Error(KEY) }) };
    const text = JSON.stringify(safeFields(fields));
    expect(text).not.toContain(KEY);
    expect(text).toContain('xsvc_[redacted]y');
  });

  it('renders name, message, code, stack and cause of an error', () => {
    const error = Object.assign(new TypeError('no', { cause: 'why' }), { code: 'E_NO' });
    expect(rendered({ error })).toMatchObject({
      error: {
        name: 'TypeError',
        message: 'no',
        code: 'E_NO',
        stack: expect.stringContaining('TypeError: no'),
        cause: 'why',
      },
    });
  });

  it('keeps a member called __proto__ apart from the prototype', () => {
    const fields = JSON.parse('{"a":{"__proto__":{"b":1}},"__proto__":"c"}');
    expect(JSON.stringify(safeFields(fields))).toBe('{"a":{"__proto__":{"b":1}},"__proto__":"c"}');
  });

  it('renames a field that collides with a standard member', () => {
    expect(rendered({ level: 'x', event: 'y' })).toEqual({ first: 0, level_: 'x', event_: 'y' });
  });

  it('handles cycles, throwing getters and proxies', () => {
    const circle: Record<string, unknown> = { a: 1 };
    circle['self'] = circle;
    const hostile = {
      get broken(): string {
        throw new Error('no');
      },
    };
    const proxy = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no');
        },
      },
    );
    const text = JSON.stringify(safeFields({ circle, hostile, proxy }));
    expect(text).toContain('[too deep]');
    expect(rendered({ hostile, proxy })).toEqual({
      first: 0,
      hostile: { broken: '[unreadable]' },
      proxy: '[unreadable]',
    });
  });

  it('truncates long texts, wide objects and long lists', () => {
    const wide = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`m${index}`, index]));
    const text = JSON.stringify(safeFields({ long: 'x'.repeat(100_000), wide, list: new Array(1000).fill(1) }));
    expect(text.length).toBeLessThan(12_000);
    expect(JSON.parse(text)).toMatchObject({ long: `${'x'.repeat(8192)}...` });
  });

  it('renders valid JSON for any input', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.anything()), (fields) => {
        expect(() => rendered(fields)).not.toThrow();
      }),
    );
  });
});
