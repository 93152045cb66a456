import { expect, it } from '@jest/globals';
import { isKeyValid, keyStateOf } from './key-state.ts';

const NOON = '2026-01-01T12:00:00.000Z';
const noonMs = Date.UTC(2026, 0, 1, 12);

it.each([
  [{ revokedAt: null, endsAt: null }, noonMs, 'live', true],
  [{ revokedAt: null, endsAt: NOON }, noonMs - 1, 'ending', true],
  [{ revokedAt: null, endsAt: NOON }, noonMs, 'ended', false],
  [{ revokedAt: NOON, endsAt: NOON }, noonMs, 'revoked', false],
  // The reader's clock is behind, or the key had ended before it was revoked.
  [{ revokedAt: NOON, endsAt: NOON }, noonMs - 1, 'revoked', false],
  [{ revokedAt: NOON, endsAt: '2025-01-01T00:00:00.000Z' }, noonMs, 'revoked', false],
])('a key with %j is at %d %s', (key, nowMs, state, isValid) => {
  expect([keyStateOf(key, nowMs), isKeyValid(key, nowMs)]).toEqual([state, isValid]);
});
