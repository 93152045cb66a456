import { AppError } from '@sealgate/errors';
import type { SubmittedRecord } from './parse-record.ts';

/** @throws AppError UNKNOWN_CHANNEL naming every channel that the network does not have. */
export function checkChannels(records: readonly SubmittedRecord[], channels: readonly string[]): void {
  const unknown = new Set<string>();
  for (const { targetChannels } of records) {
    for (const name of targetChannels ?? []) if (!channels.includes(name)) unknown.add(name);
  }
  if (unknown.size === 0) return;
  const names = [...unknown].map((name) => JSON.stringify(name)).join(', ');
  throw new AppError('UNKNOWN_CHANNEL', `The network has no channel ${names}.`);
}
