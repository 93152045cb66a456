import { AppError } from '@sealgate/errors';
import type { CanonicalRecord } from './read-submission.ts';

/** @throws AppError UNKNOWN_CHANNEL when a record names a channel that the network does not have. */
export function checkChannels(records: readonly CanonicalRecord[], channels: readonly string[]): void {
  const isKnown = records.every(({ targetChannels = [] }) => targetChannels.every((name) => channels.includes(name)));
  if (!isKnown) throw new AppError('UNKNOWN_CHANNEL', 'The network does not have every channel that is named.');
}
