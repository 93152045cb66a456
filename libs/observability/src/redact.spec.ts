import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isSecretName, redactKeys, redactText } from './safe-fields.ts';

const BODY = 'aB3-_'.repeat(8) + 'xyz';

describe('isSecretName', () => {
  it.each([
    'authorization',
    'Authorization',
    'proxy-authorization',
    'x-api-key',
    'X_API_KEY',
    'apiKey',
    'cookie',
    'set-cookie',
    'password',
    'dbPassword',
    'token',
    'admin_token',
    'accessToken',
    'rawKey',
    'secret',
    'SERVER_SECRETS',
    'clientSecret',
    'idempotency-key',
    'idempotencyKey',
    'privateKey',
    'LEDGER_SIGNING_KEY',
    'DATABASE_URL',
    'credit_card',
    'SSN',
  ])('detects %s', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  it.each(['keyId', 'keyPrefix', 'networkId', 'requestId', 'route', 'tokens_used', 'secretary', 'url', ''])(
    'ignores %s',
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );

  it('bounds its cache of names', () => {
    for (let count = 0; count < 3000; count += 1) expect(isSecretName(`name${count}`)).toBe(false);
    expect(isSecretName('password')).toBe(true);
  });
});

describe('redactKeys', () => {
  it.each(['svc_', 'gk_', 'ingest_'])('redacts a key of %s and keeps its prefix', (prefix) => {
    expect(redactKeys(`a ${prefix}${BODY} b`)).toBe(`a ${prefix}[redacted] b`);
  });

  it('ignores a text that is one character too short', () => {
    const text = `ingest_${BODY.slice(1)}`;
    expect(redactKeys(text)).toBe(text);
  });

  it('finds keys anywhere, several in one text', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.string({ maxLength: 60 }),
            fc.constantFrom('svc_', 'gk_', 'ingest_'),
            fc.stringMatching(/^[A-Za-z0-9_-]{43}$/),
          ),
          { minLength: 1, maxLength: 4 },
        ),
        (parts) => {
          const redacted = redactKeys(parts.map(([before, prefix, body]) => `${before} ${prefix}${body}.`).join(''));
          for (const [, prefix, body] of parts) expect(redacted).not.toContain(prefix + body);
        },
      ),
    );
  });
});

describe('redactText', () => {
  it('redacts credentials after an authorization scheme', () => {
    expect(redactText('sent Bearer abc.def-123, refused')).toBe('sent Bearer [redacted], refused');
    expect(redactText('trade/basic as clerk: refused')).toBe('trade/basic as clerk: refused');
    expect(redactText('Authorization: ApiKey k')).toBe('Authorization: ApiKey [redacted]');
  });

  it('redacts the user part of a URL', () => {
    expect(redactText('cannot reach postgresql://app:hunter2@db:5432/x')).toBe(
      'cannot reach postgresql://[redacted]@db:5432/x',
    );
  });

  it('ignores ordinary words', () => {
    const text = 'connect ECONNREFUSED 127.0.0.1:6379 (https://example.com/a?b=c)';
    expect(redactText(text)).toBe(text);
  });
});
