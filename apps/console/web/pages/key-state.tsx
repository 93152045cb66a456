import type { ReactNode } from 'react';
import { Stack, Text } from '@mantine/core';
import { StateBadge } from '../shell/state-badge.tsx';
import { Time } from '../shell/time.tsx';

/** Of a key of any surface. */
interface KeyTimes {
  /** Where it lies in the future, the key was rotated and goes on until then. */
  readonly revokedAt: string | null;
  readonly expiresAt?: string | null;
}

type KeyStateName = 'live' | 'ending' | 'revoked' | 'expired';

/** What a key is now; one that is ending still counts. */
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

/** The state of a key, and when it ends or ended. */
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
