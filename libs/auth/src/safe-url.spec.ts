import { describe, expect, it } from '@jest/globals';
import { isLoopback, safeUrl } from './safe-url.ts';

describe('loopback', () => {
  it.each(['localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]'])('is %s', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  it.each([
    '',
    '0.0.0.0',
    '127.0.0.1.example.com',
    '127.example.com',
    '127.0.0.999',
    '::',
    '::2',
    'localhost.',
    '10.0.0.1',
  ])('is not %j', (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});

describe('a URL', () => {
  it.each(['https://id.example.com/a?b', 'http://localhost:8080', 'http://127.0.0.1/', 'http://[::1]:9/x'])(
    'with transport security is %s',
    (text) => {
      expect(safeUrl(text)?.href).toBe(new URL(text).href);
    },
  );

  it.each([
    'http://id.example.com',
    'http://127.0.0.1.example.com',
    'https://user@example.com',
    'https://:password@example.com',
    'http://user@localhost',
    'ftp://localhost',
    'file:///etc/passwd',
    'localhost',
    '',
  ])('without transport security is %j', (text) => {
    expect(safeUrl(text)).toBeUndefined();
  });
});
