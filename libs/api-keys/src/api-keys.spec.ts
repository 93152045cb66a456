import { expect, it } from '@jest/globals';
import { liveKeyCondition } from './api-keys.ts';

it('liveKeyCondition uses the alias and the time parameter', () => {
  expect(liveKeyCondition('k', '$2')).toBe(
    '(k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2::timestamptz)' +
      ' AND (k.overlap_until IS NULL OR k.overlap_until > $2::timestamptz))',
  );
});
