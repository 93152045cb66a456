import type { ReactNode } from 'react';
import { Group, Text } from '@mantine/core';
import { formatNumber } from '../../shell/formats.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import * as texts from './texts.ts';

interface SignedChannel {
  readonly size: number;
  /** Number of records covered by the newest checkpoint. */
  readonly signed: number;
  readonly signedUntil: string | null;
  readonly unsignedSince: string | null;
}

/** Checkpoints take seconds; longer delays are highlighted. */
const LATE_MS = 60_000;

/** The size and age of the newest checkpoint of a channel. */
export function SignedState({ channel }: { channel: SignedChannel }): ReactNode {
  const { size, signed, signedUntil, unsignedSince } = channel;
  if (size === 0) return <Text size="sm">{texts.noRecordsYet}</Text>;
  const isLate = unsignedSince !== null && Date.now() - Date.parse(unsignedSince) > LATE_MS;
  return (
    <Group gap="xs">
      {signed === size ? (
        <StateBadge tone="good">{texts.coversAll}</StateBadge>
      ) : (
        <StateBadge tone={isLate ? 'bad' : 'wait'}>{texts.notCovered(formatNumber(size - signed))}</StateBadge>
      )}
      {signedUntil !== null && (
        <Text size="sm" span>
          {texts.upTo(<Time value={signedUntil} form="ago" />)}
        </Text>
      )}
    </Group>
  );
}
