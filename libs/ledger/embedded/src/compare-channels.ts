import {
  consistencyPath,
  parseCheckpoint,
  verifyConsistency,
  type Checkpoint,
  type NoteVerifier,
} from '@sealgate/merkle';
import { textArray, type Sql } from '@sealgate/storage';
import { signersOf, type CheckedCheckpoint } from './checked-checkpoint.ts';
import { readLedger } from './database-problem.ts';
import type { Halt } from './halts.ts';
import { LedgerCorruptError, LedgerLostError, LedgerNotContinuedError, type Loss } from './ledger-corrupt-error.ts';
import type { SavedCheckpoints } from './saved-checkpoints.ts';
import { tileReader } from './tile-store.ts';

export interface CompareOptions {
  readonly sql: Sql;
  readonly saved: SavedCheckpoints;
  readonly verifier: NoteVerifier;
  /** By that verifier. */
  readonly checked: CheckedCheckpoint;
  readonly deadlineMs: number;
}

/** What came of holding a channel against what is kept of it. `current` is what the database holds. */
export interface Compared {
  readonly channel: string;
  readonly outcome: 'continued' | LedgerCorruptError;
  readonly isKept: boolean;
  readonly current: SignedCheckpoint | undefined;
  /** Whether `current` is newer than what is kept: a crash came between the two, or another process signed it. */
  readonly isAhead: boolean;
}

export interface SignedCheckpoint {
  readonly note: string;
  readonly checkpoint: Checkpoint;
}

interface HeadRow {
  channel: string;
  size: string;
  checkpoint: string | null;
}

const FILES_AT_ONCE = 16;

/**
 * Holds each channel against the newest checkpoint that is kept of it outside the database, or in the database's own word
 * on why it is halted: that is still there when the files are not. What is kept is read first: it was committed before.
 *
 * @throws LedgerUnavailableError when the database gives no answer.
 */
export async function compareChannels(
  options: CompareOptions,
  channels: readonly string[],
  halts: readonly Halt[],
): Promise<readonly Compared[]> {
  const { sql, deadlineMs } = options;
  const stored = new Map(halts.map(({ channel, loss }) => [channel, loss]));
  const kept = new Map<string, SignedCheckpoint | LedgerCorruptError>();
  for (let at = 0; at < channels.length; at += FILES_AT_ONCE) {
    const reading = channels.slice(at, at + FILES_AT_ONCE).map(async (channel) => {
      const newest = await newestKept(options, channel, stored.get(channel)?.kept);
      if (newest !== undefined) kept.set(channel, newest);
    });
    await Promise.all(reading);
  }
  const text = 'SELECT channel, size, checkpoint FROM ledger.heads_v1($1)';
  const statement = { name: 'ledger heads', text, values: [textArray(channels)] };
  const heads = await readLedger<HeadRow>(sql, statement, deadlineMs);
  const headOf = new Map(heads.map((row) => [row.channel, row]));
  const compared: Compared[] = [];
  for (const channel of channels) {
    const newest = kept.get(channel);
    const pair = { channel, head: headOf.get(channel), stored: stored.get(channel) };
    if (newest instanceof Error) compared.push({ channel, outcome: newest, isKept: true, ...NOTHING });
    else compared.push(await compareOne(options, { ...pair, kept: newest }));
  }
  return compared;
}

async function newestKept(
  { saved, verifier, checked }: CompareOptions,
  channel: string,
  stored: string | undefined,
): Promise<SignedCheckpoint | LedgerCorruptError | undefined> {
  const note = await saved.newest(channel);
  try {
    const ofFile = note === undefined ? undefined : { note, checkpoint: checked(channel, note) };
    if (stored === undefined || stored === note || verifier.verify(stored) === undefined) return ofFile;
    const ofHalt = { note: stored, checkpoint: checked(channel, stored) };
    return ofFile === undefined || ofFile.checkpoint.size < ofHalt.checkpoint.size ? ofHalt : ofFile;
  } catch (error) {
    if (!(error instanceof LedgerCorruptError)) throw error;
    if (note === undefined || verifier.verify(note) !== undefined) return error;
    const by = signersOf(note);
    return new LedgerNotContinuedError(
      channel,
      `the newest kept checkpoint is signed by no published key, but by ${by}`,
    );
  }
}

interface Pair {
  readonly channel: string;
  readonly kept: SignedCheckpoint | undefined;
  /** Undefined where the database knows no such channel. */
  readonly head: HeadRow | undefined;
  /** What was found the last time. */
  readonly stored: Loss | undefined;
}

/** Of a channel that is not as it was left nothing is taken over. */
const NOTHING = { current: undefined, isAhead: false } as const;

async function compareOne(options: CompareOptions, pair: Pair): Promise<Compared> {
  const { channel, kept } = pair;
  const isKept = kept !== undefined;
  try {
    const current = currentOf(options, pair);
    const isAhead = (current?.checkpoint.size ?? 0) > (kept?.checkpoint.size ?? 0);
    const loss = kept === undefined ? undefined : await lossOf(options, { ...pair, kept }, current?.checkpoint);
    if (loss !== undefined) return { channel, outcome: loss, isKept, ...NOTHING };
    return { channel, outcome: 'continued', isKept, current, isAhead };
  } catch (error) {
    if (error instanceof LedgerCorruptError) return { channel, outcome: error, isKept, ...NOTHING };
    throw error;
  }
}

/** @throws LedgerCorruptError for a note that is not ours. */
function currentOf({ checked }: CompareOptions, { channel, head }: Pair): SignedCheckpoint | undefined {
  const note = head?.checkpoint ?? undefined;
  return note === undefined ? undefined : { note, checkpoint: checked(channel, note) };
}

async function lossOf(
  options: CompareOptions,
  { channel, kept, head, stored }: Pair & { readonly kept: SignedCheckpoint },
  current: Checkpoint | undefined,
): Promise<LedgerLostError | undefined> {
  const until = kept.checkpoint.size;
  const lostFrom = (from: number) =>
    new LedgerLostError(channel, { from, until, kept: kept.note }, Number(head?.size ?? 0));
  if (current === undefined) return lostFrom(0);
  if (await continues(options, channel, { old: kept.checkpoint, current })) return undefined;
  const isKnown = stored?.kept === kept.note && stored.from === current.size;
  return lostFrom(isKnown ? stored.from : await agreedSize(options, channel, current));
}

/** Whether `current` is the log of `old`, or one that goes on from it. @throws LedgerCorruptError for a missing tile. */
async function continues(
  { sql, deadlineMs }: CompareOptions,
  channel: string,
  { old, current }: { readonly old: Checkpoint; readonly current: Checkpoint },
): Promise<boolean> {
  if (old.size > current.size) return false;
  if (old.size === current.size) return old.root.equals(current.root);
  const path = await consistencyPath(old.size, current.size, tileReader(sql, channel, deadlineMs));
  const sizes = { oldSize: old.size, newSize: current.size };
  return verifyConsistency({ ...sizes, path, oldRoot: old.root, newRoot: current.root });
}

/**
 * The size of the newest kept checkpoint that `current` continues, 0 where there is none. Behind a rollback it is the first
 * that is small enough. Behind a fork they agree from some size down: found by looking ever further back, then between.
 */
async function agreedSize(options: CompareOptions, channel: string, current: Checkpoint): Promise<number> {
  const agrees = (note: string) => {
    if (options.verifier.verify(note) === undefined) return Promise.resolve(false);
    return continues(options, channel, { old: parseCheckpoint(note), current });
  };
  /** Smaller than all that were found not to agree; the newest first. */
  let untried: string[] = [];
  let stride = 1;
  for await (const note of options.saved.notes(channel)) {
    if (sizeOf(note) > current.size) continue;
    untried.push(note);
    if (untried.length < stride) continue;
    if (await agrees(note)) break;
    untried = [];
    stride *= 2;
  }
  let [first, end] = [0, untried.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if (await agrees(untried[middle]!)) end = middle;
    else first = middle + 1;
  }
  const newest = untried[first];
  return newest === undefined ? 0 : sizeOf(newest);
}

const sizeOf = (note: string): number => Number(note.split('\n', 2)[1]);
