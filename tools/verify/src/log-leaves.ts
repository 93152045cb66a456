import { HASH_BYTES } from '@sealgate/merkle';
import { entriesOf } from './log-entry.ts';
import type { LogEntry } from './log-entry.ts';
import { readNdjson } from './ndjson.ts';
import type { Reporter } from './report.ts';

export interface LogLeaves {
  /** The leaf hashes, in order, as far as there is no gap. */
  readonly hashes: Buffer;
  /** Where each entry stands in the file. */
  readonly places: readonly string[];
}

/**
 * Reads a whole log as NDJSON, in one file or several in order, and checks it by itself: every index from 0 in order, none missing or twice, no id twice, every
 * line of this channel and true to its own hashes. Hashes stop at the first gap.
 */
export async function readLeaves(
  report: Reporter,
  paths: readonly string[],
  { channel, size }: { channel: string | undefined; size: number },
): Promise<LogLeaves> {
  const hashes: Buffer[] = [];
  const places: string[] = [];
  const ids = new Map<string, string>();
  let spoiled = 0;
  for await (const entry of entriesIn(paths)) {
    if (entry.index !== hashes.length) {
      report.failed('leaves', gapFailure(entry, hashes.length));
      return { hashes: Buffer.concat(hashes), places };
    }
    const failure = entryFailure(entry, { channel, ids });
    if (failure !== undefined && spoiled === 0) report.failed('leaves', failure);
    if (failure !== undefined) spoiled += 1;
    if (entry.id !== undefined) ids.set(entry.id, entry.where);
    hashes.push(entry.leafHash.length === 0 ? Buffer.alloc(HASH_BYTES) : entry.leafHash);
    places.push(entry.where);
  }
  reportLength(report, { path: paths.at(-1) ?? 'entries', size, count: hashes.length, spoiled });
  return { hashes: Buffer.concat(hashes), places };
}

async function* entriesIn(paths: readonly string[]): AsyncGenerator<LogEntry> {
  for (const path of paths) for await (const line of readNdjson(path)) yield* entriesOf(line);
}

function gapFailure({ where, index }: LogEntry, expected: number) {
  const detail =
    index > expected
      ? 'Entries are missing: there is a gap in the indexes.'
      : 'An index is there twice, or out of order.';
  return { detail, where, expected: `index ${expected}`, found: `index ${index}` };
}

function entryFailure(entry: LogEntry, { channel, ids }: { channel: string | undefined; ids: Map<string, string> }) {
  const { where, index, id, problem } = entry;
  if (problem !== undefined) return { detail: `Entry ${index} (${id ?? 'no id'}): ${problem}`, where };
  if (channel !== undefined && entry.channel !== undefined && entry.channel !== channel) {
    return { detail: `Entry ${index} is of another channel.`, where, expected: channel, found: entry.channel };
  }
  const earlier = id === undefined ? undefined : ids.get(id);
  return earlier === undefined
    ? undefined
    : { detail: `The id ${id} is in the log twice, first at ${earlier}.`, where };
}

function reportLength(report: Reporter, o: { path: string; size: number; count: number; spoiled: number }): void {
  if (o.spoiled > 1) report.note(`${o.path}: ${o.spoiled} lines are wrong in themselves; the first is named.`);
  if (o.count < o.size) {
    report.failed('leaves', {
      detail: `The end is missing: the first entry that is not there is ${o.count}.`,
      where: o.path,
      expected: `${o.size} entries`,
      found: `${o.count} entries`,
    });
    return;
  }
  if (o.count > o.size)
    report.note(`${o.path} has ${o.count - o.size} entries that the checkpoint does not cover yet.`);
  if (o.spoiled === 0)
    report.ok('leaves', `${o.count} entries, indexes 0 to ${o.count - 1} without a gap, no id twice.`);
}
