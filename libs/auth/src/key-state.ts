/** What lists say of the end of a key. */
export interface KeyEnd {
  readonly revokedAt: string | null;
  /** The earliest of expiry, end of the overlap and revocation; null: none is known. */
  readonly endsAt: string | null;
}

/** `ending` keys are still valid, until `endsAt`. */
export type KeyState = 'live' | 'ending' | 'ended' | 'revoked';

/**
 * How a key stands, by what every list of keys says: the same rule as `liveKeyCondition` of api-keys, for readers. At its
 * end a key has ended. A revoked one is revoked also for a clock that is behind.
 */
export function keyStateOf({ revokedAt, endsAt }: KeyEnd, nowMs: number): KeyState {
  if (revokedAt !== null) return 'revoked';
  if (endsAt === null) return 'live';
  return nowMs < Date.parse(endsAt) ? 'ending' : 'ended';
}

/** Whether requests with the key are still accepted. */
export const isKeyValid = (key: KeyEnd, nowMs: number): boolean => ['live', 'ending'].includes(keyStateOf(key, nowMs));
