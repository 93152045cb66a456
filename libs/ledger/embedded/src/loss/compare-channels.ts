import { logName, parseLogName, type LostEntries } from '@sealgate/envelope';
import {
  consistencyPath,
  parseCheckpoint,
  verifyConsistency,
  type Checkpoint,
  type NoteVerifier,
} from '@sealgate/merkle';
import { textArray, type Sql } from '@sealgate/storage';
import { checkDeclaration } from './check-declaration.ts';
import { signersOf, type CheckedCheckpoint } from '../checked-checkpoint.ts';
import { readLedger } from '../database-problem.ts';
import type { Halt } from '../halts.ts';
import { LedgerCorruptError, LedgerLostError, LedgerNotContinuedError } from '../ledger-corrupt-error.ts';
import type { SavedCheckpoints, SignedCheckpoint } from '../saved-checkpoints.ts';
import { tileReader } from '../tile-store.ts';

interface CompareOptions {
  readonly sql: Sql;
  readonly origin: string;
  readonly saved: SavedCheckpoints;
  readonly verifier: NoteVerifier;
  /** Verifies with `verifier`. */
  readonly checked: CheckedCheckpoint;
  readonly deadlineMs: number;
}

/** Result of comparing a channel with its kept checkpoints. `current` is the checkpoint in the database. */
export interface Compared {
  readonly channel: string;
  /** The log that the channel currently appends to. */
  readonly log: string;
  readonly outcome: 'continued' | LedgerCorruptError;
  /** Whether a checkpoint of that log is kept. */
  readonly isKept: boolean;
  readonly current: SignedCheckpoint | undefined;
  /**
   * Whether `current` is newer than the kept one: a crash came between the two writes, or another process signed it.
   */
  readonly isAhead: boolean;
}

interface HeadRow {
  channel: string;
  log: string;
  size: string;
  checkpoint: string | null;
  statement: string | null;
  leaf_hash: Buffer | null;
}

const FILES_AT_ONCE = 16;

/** Kept checkpoints of a channel's logs, by epoch. */
type Kept = ReadonlyMap<number, SignedCheckpoint | LedgerCorruptError>;

/**
 * Compares each channel with its newest checkpoints kept outside the database. The reason stored in the database for a
 * halt counts as kept, too, in case the files are gone. Kept checkpoints are read before the heads, because they are
 * saved after the commit.
 *
 * @throws LedgerUnavailableError if the database does not answer.
 */
export async function compareChannels(
  options: CompareOptions,
  channels: readonly string[],
  halts: readonly Halt[],
): Promise<readonly Compared[]> {
  const { sql, deadlineMs } = options;
  const stored = new Map(halts.map(({ channel, losses }) => [channel, losses ?? []]));
  const kept = new Map<string, Kept>();
  for (let at = 0; at < channels.length; at += FILES_AT_ONCE) {
    const reading = channels.slice(at, at + FILES_AT_ONCE).map(async (channel) => {
      kept.set(channel, await keptOf(options, channel, stored.get(channel) ?? []));
    });
    await Promise.all(reading);
  }
  const text = 'SELECT channel, log, size, checkpoint, statement, leaf_hash FROM ledger.heads($1)';
  const statement = { name: 'ledger heads', text, values: [textArray(channels)] };
  const heads = await readLedger<HeadRow>(sql, statement, deadlineMs);
  const headOf = new Map(heads.map((row) => [row.channel, row]));
  const compared: Compared[] = [];
  for (const channel of channels) {
    const of = { channel, kept: kept.get(channel)!, head: headOf.get(channel), stored: stored.get(channel) ?? [] };
    compared.push(await compareOne(options, of));
  }
  return compared;
}

async function keptOf(options: CompareOptions, channel: string, stored: readonly LostEntries[]): Promise<Kept> {
  const epochs = new Set([...(await options.saved.epochs(channel)), ...stored.map(({ epoch }) => epoch)]);
  const kept = new Map<number, SignedCheckpoint | LedgerCorruptError>();
  for (const epoch of [...epochs].sort((one, other) => one - other)) {
    const told = stored.find((entries) => entries.epoch === epoch)?.checkpoint;
    const newest = await newestKept(options, logName(channel, epoch), told);
    if (newest !== undefined) kept.set(epoch, newest);
  }
  return kept;
}

async function newestKept(
  { saved, verifier, checked }: CompareOptions,
  log: string,
  stored: string | undefined,
): Promise<SignedCheckpoint | LedgerCorruptError | undefined> {
  const note = await saved.newest(log);
  try {
    const ofFile = note === undefined ? undefined : { note, checkpoint: checked(log, note) };
    if (stored === undefined || stored === note || verifier.verify(stored) === undefined) return ofFile;
    const ofHalt = { note: stored, checkpoint: checked(log, stored) };
    return ofFile === undefined || ofFile.checkpoint.size < ofHalt.checkpoint.size ? ofHalt : ofFile;
  } catch (error) {
    if (!(error instanceof LedgerCorruptError)) throw error;
    if (note === undefined || verifier.verify(note) !== undefined) return error;
    const by = signersOf(note);
    return new LedgerNotContinuedError(log, `the newest kept checkpoint is signed by no published key, but by ${by}`);
  }
}

interface Pair {
  readonly channel: string;
  readonly kept: Kept;
  /** Undefined if the database has no such channel. */
  readonly head: HeadRow | undefined;
  /** Losses found by earlier comparisons. */
  readonly stored: readonly LostEntries[];
}

/** Nothing is taken over from a corrupt channel. */
const NOTHING = { current: undefined, isAhead: false } as const;

async function compareOne(options: CompareOptions, pair: Pair): Promise<Compared> {
  const { channel, kept, head } = pair;
  const log = head?.log ?? channel;
  const { epoch } = parseLogName(log)!;
  const isKept = kept.has(epoch);
  try {
    const ours = signed(kept.get(epoch));
    const current = currentOf(options, log, head);
    if (epoch > 0 && current === undefined)
      checkDeclaration(options, { log, head, kept: (of) => signed(kept.get(of)) });
    const losses = [
      ...(await lossesOf(options, { ...pair, log, epoch, ours, current })),
      ...[...kept].filter(([later]) => later > epoch).map(([later, its]) => wholeLoss(later, signed(its)!)),
    ];
    const [first] = losses;
    if (first !== undefined) {
      // If only later logs are lost, this one has ended without the database knowing.
      const end = first.epoch > epoch ? endOf(epoch, newerOf(ours, current)) : [];
      const outcome = new LedgerLostError(channel, [...end, ...losses], Number(head?.size ?? 0));
      return { channel, log, outcome, isKept: true, ...NOTHING };
    }
    const isAhead = current !== undefined && newerOf(ours, current) === current;
    return { channel, log, outcome: 'continued', isKept, current, isAhead };
  } catch (error) {
    if (error instanceof LedgerCorruptError) return { channel, log, outcome: error, isKept, ...NOTHING };
    throw error;
  }
}

/** The kept checkpoint, unless `current` has more entries. */
function newerOf(kept: SignedCheckpoint | undefined, current: SignedCheckpoint | undefined) {
  if (kept === undefined || current === undefined) return kept ?? current;
  return current.checkpoint.size > kept.checkpoint.size ? current : kept;
}

/** @throws LedgerCorruptError if the kept checkpoint is not this ledger's. */
function signed(kept: SignedCheckpoint | LedgerCorruptError | undefined): SignedCheckpoint | undefined {
  if (kept instanceof Error) throw kept;
  return kept;
}

/** @throws LedgerCorruptError if the note is not this ledger's. */
function currentOf({ checked }: CompareOptions, log: string, head: HeadRow | undefined): SignedCheckpoint | undefined {
  const note = head?.checkpoint ?? undefined;
  return note === undefined ? undefined : { note, checkpoint: checked(log, note) };
}

const wholeLoss = (epoch: number, { note, checkpoint }: SignedCheckpoint): LostEntries => ({
  epoch,
  lostFrom: 0,
  lostUntil: checkpoint.size,
  checkpoint: note,
  surviving: null,
});

/** A log that ended without losses. */
function endOf(epoch: number, last: SignedCheckpoint | undefined): LostEntries[] {
  if (last === undefined) return [];
  const { size } = last.checkpoint;
  return [{ epoch, lostFrom: size, lostUntil: size, checkpoint: last.note, surviving: last.note }];
}

interface LogPair extends Pair {
  readonly log: string;
  readonly epoch: number;
  readonly ours: SignedCheckpoint | undefined;
  readonly current: SignedCheckpoint | undefined;
}

/** Losses in the channel's current log according to the database: none or one. */
async function lossesOf(options: CompareOptions, pair: LogPair): Promise<LostEntries[]> {
  const { log, epoch, ours, current, stored } = pair;
  if (ours === undefined) return [];
  if (current === undefined) return [wholeLoss(epoch, ours)];
  if (await continues(options, log, { old: ours.checkpoint, current: current.checkpoint })) return [];
  const known = stored.find((entries) => entries.epoch === epoch);
  const isKnown = known?.checkpoint === ours.note && known.surviving === current.note;
  const surviving = isKnown ? current.note : await survivingNote(options, pair, current.checkpoint);
  const whole = wholeLoss(epoch, ours);
  return [surviving === undefined ? whole : { ...whole, lostFrom: sizeOf(surviving), surviving }];
}

/**
 * The newest checkpoint outside the database that `current` continues, among the kept files, the result of an earlier
 * comparison (its file may be gone) and the archive's. An epoch that began below the archive's end would have entries
 * in no table.
 */
async function survivingNote(
  options: CompareOptions,
  { channel, log, epoch, stored }: LogPair,
  current: Checkpoint,
): Promise<string | undefined> {
  let newest = await agreedNote(options, log, current);
  const known = stored.find((entries) => entries.epoch === epoch)?.surviving ?? undefined;
  // The archive only covers the first log of a channel.
  for (const note of [known, epoch === 0 ? await options.saved.archived(channel) : undefined]) {
    if (note === undefined || sizeOf(note) <= (newest === undefined ? 0 : sizeOf(newest))) continue;
    const isOurs =
      options.verifier.verify(note) !== undefined && parseCheckpoint(note).origin === `${options.origin}/${log}`;
    if (isOurs && (await continues(options, log, { old: parseCheckpoint(note), current }))) newest = note;
  }
  return newest;
}

/** Whether `current` equals or extends the tree of `old`. @throws LedgerCorruptError for a missing tile. */
async function continues(
  { sql, deadlineMs }: CompareOptions,
  log: string,
  { old, current }: { readonly old: Checkpoint; readonly current: Checkpoint },
): Promise<boolean> {
  if (old.size > current.size) return false;
  if (old.size === current.size) return old.root.equals(current.root);
  const path = await consistencyPath(old.size, current.size, tileReader(sql, log, deadlineMs));
  const sizes = { oldSize: old.size, newSize: current.size };
  return verifyConsistency({ ...sizes, path, oldRoot: old.root, newRoot: current.root });
}

/**
 * The newest kept checkpoint that `current` continues, or undefined. After a rollback it is the first that is small
 * enough. After a fork all below some size agree: found by galloping backwards, then binary search.
 */
async function agreedNote(options: CompareOptions, log: string, current: Checkpoint): Promise<string | undefined> {
  const agrees = (note: string) => {
    if (options.verifier.verify(note) === undefined) return Promise.resolve(false);
    return continues(options, log, { old: parseCheckpoint(note), current });
  };
  /** Newest first; all larger ones were found to disagree. */
  let untried: string[] = [];
  let stride = 1;
  for await (const note of options.saved.notes(log)) {
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
  return untried[first];
}

const sizeOf = (note: string): number => Number(note.split('\n', 2)[1]);
