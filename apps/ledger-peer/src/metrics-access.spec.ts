import { describe, expect, it } from '@jest/globals';
import type { AuthRequest } from '@sealgate/http';
import { isScraper, parseMetricsAllow } from './metrics-access.ts';

const request = (socketAddress: string, headers: Record<string, string> = {}): AuthRequest => ({
  note: () => undefined,
  socketAddress,
  clientAddress: '10.9.9.9',
  path: '/',
  header: (name) => (headers[name] === undefined ? [] : [headers[name]]),
});

describe('access to /metrics on the public listener', () => {
  const allowed = parseMetricsAllow('127.0.0.0/8, ::1,10.1.2.3 ,fd00::/8');

  it.each(['127.0.0.1', '127.9.9.9', '::1', '10.1.2.3', '::ffff:10.1.2.3', 'fd12::1'])(
    'is allowed for %s',
    (address) => {
      expect(isScraper(request(address), allowed)).toBe(true);
    },
  );

  it.each(['10.1.2.4', '128.0.0.1', '::2', '', 'unix', '::ffff:10.1.2.4'])('is not allowed for %s', (address) => {
    expect(isScraper(request(address), allowed)).toBe(false);
  });

  it.each(['forwarded', 'x-forwarded-for'])('is not allowed for a request forwarded with %s', (header) => {
    expect(isScraper(request('127.0.0.1', { [header]: '127.0.0.1' }), allowed)).toBe(false);
  });

  it.each(['', '10.0.0.0/33', '10.0.0.0/08', 'fd00::/129', '10.0.0.0/8/8', 'localhost', '10.0.0.1,'])(
    'cannot be configured as %s',
    (text) => expect(() => parseMetricsAllow(text)).toThrow('must be addresses and subnets'),
  );
});
