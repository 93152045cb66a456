import type { ReactNode } from 'react';
import { Group, Text } from '@mantine/core';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';

export interface SignedChannel {
  readonly size: number;
  /** How many of them the newest checkpoint covers. */
  readonly signed: number;
  readonly signedUntil: string | null;
  readonly unsignedSince: string | null;
}

/** A checkpoint comes within seconds; what waits longer than this is worth a colour. */
const LATE_MS = 60_000;

/** How far the newest checkpoint of a channel goes, and how old it is. */
export function SignedState({ channel }: { channel: SignedChannel }): ReactNode {
  const { size, signed, signedUntil, unsignedSince } = channel;
  if (size === 0) return <Text size="sm">no records yet</Text>;
  const isLate = unsignedSince !== null && Date.now() - Date.parse(unsignedSince) > LATE_MS;
  return (
    <Group gap="xs">
      {signed === size ? (
        <StateBadge tone="good">Covers all</StateBadge>
      ) : (
        <StateBadge tone={isLate ? 'bad' : 'wait'}>{(size - signed).toLocaleString()} not covered</StateBadge>
      )}
      {signedUntil !== null && (
        <Text size="sm" span>
          up to <Time value={signedUntil} form="ago" />
        </Text>
      )}
    </Group>
  );
}
