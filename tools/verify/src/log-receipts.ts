import { HASH_BYTES } from '@sealgate/merkle';
import { entriesOf, type LogEntry } from './log-leaves.ts';
import { hashAt } from './tile-directory.ts';
import { readNdjson } from './read-file.ts';
import type { Failure, Reporter } from './report.ts';

interface Search {
  readonly channel: string | undefined;
  /** The leaf hashes of the log, up to the checkpoint. */
  readonly leafHashes: Buffer;
}

/**
 * Checks that every receipt in an NDJSON file is in the log exactly once, at its index. A repeated receipt (an
 * idempotent replay) counts once; one id with two indexes or two hashes is a double write. Receipts of other channels
 * are counted, not checked.
 */
export async function checkReceiptsInLog(report: Reporter, path: string, search: Search): Promise<void> {
  const known = new Map<string, LogEntry>();
  const found: LogEntry[] = [];
  const counts = { all: 0, other: 0, failed: 0 };
  let first: Failure | undefined;
  const fail = (failure: Failure): void => {
    first ??= failure;
    counts.failed += 1;
  };
  for await (const line of readNdjson(path)) {
    for (const entry of entriesOf(line)) {
      counts.all += 1;
      if (search.channel !== undefined && entry.channel !== undefined && entry.channel !== search.channel) {
        counts.other += 1;
        continue;
      }
      const failure = receiptFailure(entry, known, search);
      if (failure === undefined) found.push(entry);
      else fail(failure);
      known.set(entry.id ?? `index ${entry.index}`, entry);
    }
  }
  for (const failure of repeatedLeaves(found, search.leafHashes)) fail(failure);
  if (counts.other > 0) report.note(`${path}: ${counts.other} receipts are of other channels and were not judged.`);
  if (first !== undefined) {
    const more = counts.failed > 1 ? ` (${counts.failed} receipts failed; this is the first)` : '';
    report.failed('receipts', { ...first, detail: first.detail + more });
    return;
  }
  const unclaimed = search.leafHashes.length / HASH_BYTES - known.size;
  report.ok(
    'receipts',
    `${known.size} receipts (${counts.all - counts.other} lines) are in the log, each exactly once; ` +
      `${unclaimed} entries of the log have no receipt here.`,
  );
}

function receiptFailure(
  entry: LogEntry,
  known: ReadonlyMap<string, LogEntry>,
  { leafHashes }: Search,
): Failure | undefined {
  const { where, index, leafHash, id, problem } = entry;
  const name = id ?? `entry ${index}`;
  if (problem !== undefined) return { detail: `${name}: ${problem}`, where };
  const earlier = id === undefined ? undefined : known.get(id);
  if (earlier !== undefined && (earlier.index !== index || !earlier.leafHash.equals(leafHash))) {
    const expected = `entry ${earlier.index}, as ${earlier.where} says`;
    return { detail: `${name} has two receipts: it was written twice.`, where, expected, found: `entry ${index}` };
  }
  const size = leafHashes.length / HASH_BYTES;
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) {
    const expected = `an index below ${size}`;
    return { detail: `${name} was acknowledged and is not in the log.`, where, expected, found: `index ${index}` };
  }
  const found = hashAt(leafHashes, index);
  if (found.equals(leafHash)) return undefined;
  return {
    detail: `${name} was acknowledged as entry ${index}, and the log has another there.`,
    where,
    expected: leafHash.toString('hex'),
    found: found.toString('hex'),
  };
}

/** Finds receipts that are also in the log a second time. */
function* repeatedLeaves(entries: readonly LogEntry[], leafHashes: Buffer): Generator<Failure> {
  const wanted = new Map(entries.map((entry) => [entry.leafHash.toString('latin1'), entry]));
  const size = leafHashes.length / HASH_BYTES;
  for (let index = 0; index < size; index += 1) {
    const entry = wanted.get(hashAt(leafHashes, index).toString('latin1'));
    if (entry === undefined || entry.index === index) continue;
    const detail = `${entry.id ?? `Entry ${entry.index}`} is in the log twice.`;
    yield { detail, where: entry.where, expected: `only entry ${entry.index}`, found: `also entry ${index}` };
  }
}
