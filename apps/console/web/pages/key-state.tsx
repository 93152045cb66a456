import type { ReactNode } from 'react';
import { Stack, Text } from '@mantine/core';
import { StateBadge } from '../shell/state-badge.tsx';
import { Time } from '../shell/time.tsx';

/** A key of any surface. */
interface KeyTimes {
  readonly revokedAt: string | null;
  /** The earliest of expiry, revocation and the end of the overlap after a rotation. */
  readonly endsAt: string | null;
  readonly expiresAt?: string | null;
}

type KeyStateName = 'live' | 'ending' | 'revoked' | 'expired' | 'replaced';

/** The current state of a key; an ending key is still valid. */
function keyState({ revokedAt, endsAt, expiresAt = null }: KeyTimes, now = Date.now()): KeyStateName {
  if (revokedAt !== null) return 'revoked';
  const isExpiry = endsAt === expiresAt;
  if (endsAt !== null && Date.parse(endsAt) <= now) return isExpiry ? 'expired' : 'replaced';
  return isExpiry ? 'live' : 'ending';
}

/** A key that still works: it can be revoked, also while it ends. */
export const isValid = (key: KeyTimes): boolean => ['live', 'ending'].includes(keyState(key));

const BADGES = {
  live: { tone: 'good', word: 'Live' },
  ending: { tone: 'wait', word: 'Ending' },
  revoked: { tone: 'bad', word: 'Revoked' },
  expired: { tone: 'bad', word: 'Expired' },
  replaced: { tone: 'bad', word: 'Replaced' },
} as const;

/** The state of a key, and its end time. */
export function KeyState({ times }: { readonly times: KeyTimes }): ReactNode {
  const state = keyState(times);
  const { tone, word } = BADGES[state];
  const { endsAt: end } = times;
  const isOver = state !== 'live' && state !== 'ending';
  return (
    <Stack gap={2} align="flex-start">
      <StateBadge tone={tone}>{word}</StateBadge>
      {end !== null && (
        <Text size="xs" c="dimmed">
          {isOver ? (
            <Time value={end} form="ago" />
          ) : (
            <>
              until <Time value={end} />
            </>
          )}
        </Text>
      )}
    </Stack>
  );
}
