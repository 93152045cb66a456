import { describe, expect, it } from '@jest/globals';
import { ResponseReader } from './response-reader.ts';

const answer = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\nDate: x\r\n\r\nhello world',
);

describe('ResponseReader', () => {
  it('reads an answer however it is cut', () => {
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

  it('reads one answer after another, an empty one and a name in lower case too', () => {
    const reader = new ResponseReader();
    expect(reader.take(answer)).toBe(true);
    expect(reader.take(Buffer.from('HTTP/1.1 429 Too Many\r\ncontent-length: 0\r\n\r\n'))).toBe(true);
    expect(reader.status).toBe(429);
  });

  it('refuses what it cannot follow', () => {
    const take = (text: string): unknown => new ResponseReader().take(Buffer.from(text));
    expect(() => take('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')).toThrow('no Content-Length');
    expect(() => take('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab')).toThrow('More bytes');
    expect(() => take('x'.repeat(20_000))).toThrow('no end');
    expect(() => take('HTTP/1.1 200 OK\r\n\r\nContent-Length: 5\r\nab')).toThrow('no Content-Length');
  });
});
