import { describe, expect, it } from '@jest/globals';
import { RequestTemplate } from './request-template.ts';

const make = (body = '{"a":"é"}') =>
  new RequestTemplate({ port: 8080, path: '/demo', headers: { 'X-Api-Key': 'k' }, body, keyPrefix: 'run-1-' });

describe('RequestTemplate', () => {
  it('is a complete request with the length of the body in bytes', () => {
    expect(make().next().toString()).toBe(
      'POST /demo HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nX-Api-Key: k\r\nContent-Length: 10\r\n' +
        'Idempotency-Key: run-1-000000001\r\n\r\n{"a":"é"}',
    );
  });

  it('never repeats a key, and changes nothing else', () => {
    const template = make();
    const keys = new Set<string>();
    const rest = new Set<string>();
    for (let request = 0; request < 1_234; request += 1) {
      const text = template.next().toString();
      keys.add(/Idempotency-Key: (\S+)/.exec(text)?.[1] ?? '');
      rest.add(text.replace(/(?<=Idempotency-Key: run-1-)\d{9}/, ''));
    }
    expect(keys.size).toBe(1_234);
    expect(keys).toContain('run-1-000001000');
    expect(rest.size).toBe(1);
  });

  it('counts every key in the body too, and omits the header where none is wanted', () => {
    const body = '[{"id":"{key}-a"},{"id":"{key}-b"}]';
    const options = { port: 1, path: '/', headers: {}, body, keyPrefix: 'run-' };
    const template = new RequestTemplate({ ...options, sendsKey: false });
    for (let request = 1; request < 12; request += 1) template.next();
    const text = template.next().toString();
    expect(text).toContain('[{"id":"run-000000012-a"},{"id":"run-000000012-b"}]');
    expect(text).toContain('Content-Length: 51');
    expect(text).not.toContain('Idempotency-Key');
  });

  it('refuses a key that would need more digits', () => {
    const template = make();
    template.bytes.write('999999999', template.bytes.indexOf('000000000'));
    expect(() => template.next()).toThrow('nine digits');
  });

  it('refuses a prefix that would end the header', () => {
    const options = { port: 1, path: '/', headers: {}, body: '', keyPrefix: 'a\r\nb' };
    expect(() => new RequestTemplate(options)).toThrow('on the wire');
  });
});
