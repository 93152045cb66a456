import type { ReactNode } from 'react';
import { Group, Text } from '@mantine/core';
import { isKeyValid, keyStateOf, type KeyEnd } from '@sealgate/auth/key-state';
import { StateBadge } from '../shell/state-badge.tsx';
import { Time } from '../shell/time.tsx';
import * as texts from './texts.ts';

/** A key that still works: it can be revoked, also while it ends. */
export const isValid = (key: KeyEnd): boolean => isKeyValid(key, Date.now());

const BADGES = {
  live: { tone: 'good', word: texts.live },
  ending: { tone: 'wait', word: texts.ending },
  ended: { tone: 'bad', word: texts.ended },
  revoked: { tone: 'bad', word: texts.revoked },
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
          {isValid(times) ? texts.ends(<Time value={end} form="ago" />) : <Time value={end} form="ago" />}
        </Text>
      )}
    </Group>
  );
}
