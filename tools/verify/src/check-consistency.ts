import { parseLogName } from '@sealgate/envelope';
import type { Bytes, JsonValue } from '@sealgate/json';
import { type Checkpoint, type NoteVerifier, rootsFromConsistency, verifyConsistency } from '@sealgate/merkle';
import { entryCount, type Report, type Reporter, startReport } from './report.ts';
import { hashBytes, rootObject, stringsAt, UnreadableError } from './shape.ts';
import { logOf, type NoteInput, openCheckpoint, signersOf } from './signed-checkpoint.ts';

/** The connection of two trees: a consistency path in lower-case hex, or a sentence why it could not be built. */
export type Connection = { readonly name: string } & (
  { readonly path: readonly string[] } | { readonly problem: string }
);

interface ConsistencyInput {
  readonly older: NoteInput;
  readonly newer: NoteInput;
  readonly verifier: NoteVerifier;
  readonly connection?: Connection | undefined;
}

/**
 * Checks that one checkpoint covers a prefix of the log of another: that no entry was changed, removed or inserted.
 * @throws UnreadableError if the trees differ in size and no proof or tiles were given.
 */
export function checkConsistency({ older, newer, verifier, connection }: ConsistencyInput): Report {
  const report = startReport();
  const first = openCheckpoint(report, older, { verifier, prefix: 'old ' });
  const second = openCheckpoint(report, newer, { verifier, prefix: 'new ' });
  if (first === undefined || second === undefined) {
    report.skipped('consistency', 'There are no two checkpoints to compare.');
    return report.finish('');
  }
  const [one, other] = [first, second].map((checkpoint) => parseLogName(logOf(checkpoint, verifier) ?? ''));
  const isOneChannel = one !== undefined && one.channel === other?.channel;
  const isOneLog = report.equal('log', {
    ok: 'Both checkpoints are of one log.',
    failed: isOneChannel ? EPOCHS : 'The checkpoints are of different logs.',
    where: newer.where,
    expected: first.origin,
    found: second.origin,
  });
  if (isOneLog) compareTrees(report, { first, second, where: newer.where, connection });
  else report.skipped('consistency', 'Different logs have no history in common.');
  const [before, after] = [signersOf(older.note, verifier), signersOf(newer.note, verifier)];
  const signed =
    before === after ? `Both are signed by ${after}.` : `The old one is signed by ${before}, the new one by ${after}.`;
  return report.finish(
    `The ${first.size} entries of the old checkpoint are, unchanged and in order, the first of the ${second.size} of the ` +
      `new one. ${signed}`,
  );
}

const EPOCHS =
  'The checkpoints are of two epochs of one channel. After a declared loss a channel continues in another log, so neither covers a prefix of the other: its declaration states what was lost ("receipt --declaration").';

interface Pair {
  readonly first: Checkpoint;
  readonly second: Checkpoint;
  readonly where: string;
  readonly connection: Connection | undefined;
}

function compareTrees(report: Reporter, { first, second, where, connection }: Pair): void {
  if (second.size < first.size) {
    const detail =
      'The log shrank: entries that were signed are gone (a rollback, or OLD and NEW are the wrong way round).';
    report.failed('size', {
      detail,
      where,
      expected: `at least ${first.size} entries`,
      found: `${second.size} entries`,
    });
    return;
  }
  report.ok('size', `The log grew from ${first.size} to ${second.size} entries.`);
  if (first.size === second.size) {
    report.equal('consistency', {
      ok: 'Both checkpoints have one root.',
      failed: 'A fork: two checkpoints of one size with different roots. Keep both, together they prove it.',
      where,
      expected: first.root.toString('hex'),
      found: second.root.toString('hex'),
    });
  } else if (first.size === 0) {
    report.ok('consistency', 'The old checkpoint is of the empty log, which every log begins with.');
  } else if (connection === undefined) {
    // An earlier failure is the result; only without one is the missing proof reported.
    if (report.hasFailed()) return report.skipped('consistency', 'There is no proof and there are no tiles.');
    throw new UnreadableError(
      'Trees of different sizes are compared with a consistency proof, or with tiles: give --proof or --tiles.',
    );
  } else if ('problem' in connection)
    report.failed('consistency', { detail: connection.problem, where: connection.name });
  else comparePath(report, { first, second, ...connection });
}

/** The path in a parsed file: a list of hashes, or an object with it. @throws UnreadableError otherwise. */
export function readConsistencyPath(name: string, value: JsonValue): Connection {
  const place = Array.isArray(value) ? { where: name, object: { consistencyPath: value } } : rootObject(name, value);
  return { name, path: stringsAt(place, 'consistencyPath') };
}

function comparePath(
  report: Reporter,
  { first, second, name, path }: { first: Checkpoint; second: Checkpoint; name: string; path: readonly string[] },
): void {
  const hashes = path.map(hashBytes).filter((hash) => hash !== undefined);
  if (hashes.length === path.length) compareRoots(report, { first, second, where: name, path: hashes });
  else report.failed('consistency', { detail: 'A hash of the proof is not 64 lower hex digits.', where: name });
}

function compareRoots(
  report: Reporter,
  { first, second, where, path }: { first: Checkpoint; second: Checkpoint; where: string; path: readonly Bytes[] },
): void {
  const proof = { oldSize: first.size, newSize: second.size, path, oldRoot: first.root };
  if (verifyConsistency({ ...proof, newRoot: second.root })) {
    report.ok('consistency', 'The proof leads to both roots.');
    return;
  }
  const roots = rootsFromConsistency(proof);
  if (roots === undefined) {
    const detail = 'The proof cannot be one for trees of these sizes: it is too long or too short.';
    report.failed('consistency', { detail, where });
    return;
  }
  const isOldRoot = roots.oldRoot.equals(first.root);
  report.failed('consistency', {
    detail: `The proof does not lead to the ${isOldRoot ? 'new' : 'old'} root: a fork, or a changed proof.`,
    where,
    expected: (isOldRoot ? second : first).root.toString('hex'),
    found: (isOldRoot ? roots.newRoot : roots.oldRoot)?.toString('hex') ?? 'none',
  });
}

/**
 * Checks one checkpoint: its signature by the pinned key, its format, its origin. Never throws for the content of the
 * note.
 */
export function checkCheckpoint(input: NoteInput & { verifier: NoteVerifier; channel?: string | undefined }): Report {
  const report = startReport();
  const checkpoint = openCheckpoint(report, input, input);
  if (checkpoint === undefined) return report.finish('');
  const { origin, size, root } = checkpoint;
  report.note('One checkpoint shows no history: keep it, and compare it with later ones ("consistency").');
  return report.finish(
    `${signersOf(input.note, input.verifier)} signed ${origin} at ${entryCount(size)}, root ${root.toString('hex')}.`,
  );
}
