import { describe, expect, it } from '@jest/globals';
import { ResponseReader } from './response-reader.ts';

const answer = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\nDate: x\r\n\r\nhello world',
);

describe('ResponseReader', () => {
  it('reads an answer split at any point', () => {
    for (let cut = 1; cut < answer.length; cut += 1) {
      const reader = new ResponseReader();
      expect(reader.take(answer.subarray(0, cut))).toBe(false);
      expect(reader.take(answer.subarray(cut))).toBe(true);
      expect(reader.status).toBe(200);
    }
  });

  it('keeps the beginning of a head although the bytes are overwritten', () => {
    const reader = new ResponseReader();
    const shared = Buffer.from(answer.subarray(0, 30));
    reader.take(shared);
    shared.fill(0);
    expect(reader.take(answer.subarray(30))).toBe(true);
    expect(reader.status).toBe(200);
  });

  it('reads consecutive answers, an empty one and a lower-case header name included', () => {
    const reader = new ResponseReader();
    expect(reader.take(answer)).toBe(true);
    expect(reader.take(Buffer.from('HTTP/1.1 429 Too Many\r\ncontent-length: 0\r\n\r\n'))).toBe(true);
    expect(reader.status).toBe(429);
  });

  it('checks the required text in the body, split at any point, and not in the head', () => {
    for (const [text, says] of [
      ['lo wor', true],
      ['hello world', true],
      ['world!', false],
      ['text/plain', false],
    ] as const) {
      for (let cut = 1; cut < answer.length; cut += 1) {
        const reader = new ResponseReader(text);
        const middle = Math.min(answer.length - 1, cut + 3);
        reader.take(answer.subarray(0, cut));
        if (middle > cut) reader.take(answer.subarray(cut, middle));
        expect(reader.take(answer.subarray(Math.max(cut, middle)))).toBe(true);
        expect({ text, cut, says: reader.says }).toEqual({ text, cut, says });
      }
    }
    const reader = new ResponseReader('hello');
    reader.take(answer);
    reader.take(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno'));
    expect(reader.says).toBe(false);
    expect(new ResponseReader().says).toBe(true);
  });

  it('sees that the server closes the connection, where it is asked to', () => {
    const closing = Buffer.from('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}');
    const reader = new ResponseReader(undefined, { seesClose: true });
    for (const [bytes, closes] of [[answer, false] as const, [closing, true] as const, [answer, false] as const]) {
      reader.take(bytes);
      expect(reader.closes).toBe(closes);
    }
    const body = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n\r\nConnection: close\r\n{}');
    reader.take(body);
    expect(reader.closes).toBe(false);
    const blind = new ResponseReader();
    blind.take(closing);
    expect(blind.closes).toBe(false);
  });

  it('refuses answers that it cannot parse', () => {
    const take = (text: string): unknown => new ResponseReader().take(Buffer.from(text));
    expect(() => take('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')).toThrow('no Content-Length');
    expect(() => take('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab')).toThrow('More bytes');
    expect(() => take('x'.repeat(20_000))).toThrow('no end');
    expect(() => take('HTTP/1.1 200 OK\r\n\r\nContent-Length: 5\r\nab')).toThrow('no Content-Length');
  });
});
