import type { ReactNode } from 'react';
import { Stack, Text } from '@mantine/core';
import { StateBadge } from '../shell/state-badge.tsx';
import { Time } from '../shell/time.tsx';

/** A key of any surface. */
interface KeyTimes {
  /** If in the future: the key was rotated and is valid until then. */
  readonly revokedAt: string | null;
  readonly expiresAt?: string | null;
}

type KeyStateName = 'live' | 'ending' | 'revoked' | 'expired';

/** The current state of a key; an ending key is still valid. */
export function keyState({ revokedAt, expiresAt = null }: KeyTimes, now = Date.now()): KeyStateName {
  if (revokedAt !== null && Date.parse(revokedAt) <= now) return 'revoked';
  if (expiresAt !== null && Date.parse(expiresAt) <= now) return 'expired';
  return revokedAt === null ? 'live' : 'ending';
}

const BADGES = {
  live: { tone: 'good', word: 'Live' },
  ending: { tone: 'wait', word: 'Ending' },
  revoked: { tone: 'bad', word: 'Revoked' },
  expired: { tone: 'bad', word: 'Expired' },
} as const;

/** The state of a key, and its end time. */
export function KeyState({ times }: { readonly times: KeyTimes }): ReactNode {
  const state = keyState(times);
  const { tone, word } = BADGES[state];
  const { revokedAt, expiresAt = null } = times;
  const end = state === 'live' || state === 'expired' ? expiresAt : revokedAt;
  const isOver = state === 'revoked' || state === 'expired';
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
