import type { ReactNode } from 'react';
import { Group, Text } from '@mantine/core';
import { isKeyValid, keyStateOf, type KeyEnd } from '@sealgate/auth/key-state';
import { StateBadge } from '../shell/state-badge.tsx';
import { Time } from '../shell/time.tsx';

/** A key that still works: it can be revoked, also while it ends. */
export const isValid = (key: KeyEnd): boolean => isKeyValid(key, Date.now());

const BADGES = {
  live: { tone: 'good', word: 'Live' },
  ending: { tone: 'wait', word: 'Ending' },
  ended: { tone: 'bad', word: 'Ended' },
  revoked: { tone: 'bad', word: 'Revoked' },
} as const;

/** The state of a key, and its end time. */
export function KeyState({ times }: { readonly times: KeyEnd }): ReactNode {
  const { tone, word } = BADGES[keyStateOf(times, Date.now())];
  const { endsAt: end } = times;
  return (
    <Group gap={6}>
      <StateBadge tone={tone}>{word}</StateBadge>
      {end !== null && (
        <Text size="xs" c="dimmed">
          {isValid(times) ? (
            <>
              ends <Time value={end} form="ago" />
            </>
          ) : (
            <Time value={end} form="ago" />
          )}
        </Text>
      )}
    </Group>
  );
}
