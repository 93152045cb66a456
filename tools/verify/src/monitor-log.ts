import { parseLogName } from '@sealgate/envelope';
import type { Bytes } from '@sealgate/json';
import {
  bundlePath,
  checkPolicy,
  entriesOf,
  HASH_BYTES,
  leafHash,
  parseCheckpoint,
  TILE_WIDTH,
  tilePath,
  TileTree,
  tileWidth,
  type Checkpoint,
  type LogPolicy,
  type NoteVerifier,
} from '@sealgate/merkle';
import { logOf, originOf } from './signed-checkpoint.ts';
import { UnreadableError } from './shape.ts';

/** Problems of a log, and their exit codes. */
export const LOG_PROBLEMS = {
  /** Its checkpoint is not signed by a pinned key. */
  signature: 10,
  /** Its checkpoint is of another log. */
  origin: 11,
  /** Its tree does not extend the one seen before. */
  fork: 12,
  /** It has fewer entries than before. */
  rollback: 13,
  /** An entry differs from its tree. */
  leaf: 14,
  /** An entry is of another channel. */
  channel: 15,
  /** Fewer witnesses cosigned than the policy requires. */
  cosignatures: 16,
} as const;
export type LogProblemKind = keyof typeof LOG_PROBLEMS;

/** A contradiction in the log, with the checkpoints that prove it. */
export class LogProblem extends Error {
  override readonly name = 'LogProblem';
  readonly kind: LogProblemKind;
  readonly notes: readonly string[];

  constructor(kind: LogProblemKind, message: string, notes: readonly string[] = []) {
    super(message);
    this.kind = kind;
    this.notes = notes;
  }
}

/** Stored state of a log: the newest verified checkpoint, and the right edge of its tree. */
export interface SeenLog {
  readonly note: string;
  /** Hashes in base64, the lowest level first. */
  readonly edge: readonly { readonly level: number; readonly hashes: string }[];
}

interface FollowInput {
  /** Reads a path below the log's URL; undefined if it does not exist. @throws UnreadableError if it cannot be read. */
  readonly read: (path: string) => Promise<Bytes | undefined>;
  readonly verifier: NoteVerifier;
  /** The name of the log: `acme.main`, `acme.main/e1`; empty: that of the checkpoint seen before, or the first one. */
  readonly log: string;
  readonly policy?: LogPolicy | undefined;
  /** Undefined in the first round: then every entry is read. */
  readonly seen?: SeenLog | undefined;
}

interface Followed {
  /** The name of the log. */
  readonly log: string;
  readonly seen: SeenLog;
  readonly size: number;
  /** Entries read and checked in this round. */
  readonly checked: number;
  /** The only remaining problem, if any. */
  readonly short?: LogProblem | undefined;
}

/** Bundles requested concurrently. */
const BUNDLES_AHEAD = 8;

/**
 * Reads the newest checkpoint of a log and every entry since the last one, and checks that its tree is that of these
 * entries after the ones seen before. Memory is bounded. @throws LogProblem for a contradiction, UnreadableError if the
 * log cannot be read.
 */
export async function followLog(input: FollowInput): Promise<Followed> {
  const { read, verifier, policy, seen } = input;
  const note = (await required(read, 'checkpoint')).toString('utf8');
  const { checkpoint, log } = openNote(note, input);
  const old = seen === undefined ? undefined : parseCheckpoint(seen.note);
  const tree = treeOf(seen, old);
  const notes = [...(seen === undefined ? [] : [seen.note]), note];
  if (checkpoint.size < tree.size) {
    throw new LogProblem('rollback', `The log has ${checkpoint.size} entries, and had ${tree.size}.`, notes);
  }
  if (checkpoint.size === tree.size && !checkpoint.root.equals(tree.root())) {
    throw new LogProblem('fork', `Two trees of ${tree.size} entries are signed: a fork.`, notes);
  }
  const from = tree.size;
  for await (const hashes of newLeaves({ ...input, log }, from, checkpoint.size)) tree.append(hashes);
  if (!tree.root().equals(checkpoint.root))
    throw await whatDiffers({ ...input, log }, { from, size: checkpoint.size, notes });
  const edge = tree.edge().map(({ level, hashes }) => ({ level, hashes: hashes.toString('base64') }));
  const problem = policy === undefined ? undefined : checkPolicy(policy, note, verifier).problem;
  return {
    log,
    seen: { note, edge },
    size: checkpoint.size,
    checked: checkpoint.size - from,
    short: problem === undefined ? undefined : new LogProblem('cosignatures', problem, [note]),
  };
}

function openNote(
  note: string,
  { verifier, log: wanted, seen }: Pick<FollowInput, 'verifier' | 'log' | 'seen'>,
): { readonly checkpoint: Checkpoint; readonly log: string } {
  if (verifier.verify(note) === undefined) {
    throw new LogProblem('signature', 'The checkpoint is signed by no pinned key.', [note]);
  }
  const checkpoint = parseCheckpoint(note);
  const first = seen === undefined ? checkpoint : parseCheckpoint(seen.note);
  const log = wanted === '' ? (logOf(first, verifier) ?? '') : wanted;
  const expected = log === '' ? `${verifier.name}/<network>.<channel>` : originOf(verifier, log);
  if (checkpoint.origin !== expected) {
    throw new LogProblem('origin', `The checkpoint is of ${checkpoint.origin}, not of ${expected}.`, [note]);
  }
  return { checkpoint, log };
}

/** The stored tree. @throws UnreadableError if the state differs from what was signed. */
function treeOf(seen: SeenLog | undefined, old: Checkpoint | undefined): TileTree {
  if (seen === undefined || old === undefined) return TileTree.empty();
  const edge = seen.edge.map(({ level, hashes: text }) => {
    const hashes = Buffer.from(text, 'base64');
    const index = Math.floor(old.size / TILE_WIDTH ** (level + 1));
    return { level, index, width: hashes.length / HASH_BYTES, hashes };
  });
  try {
    const tree = TileTree.from(old.size, edge);
    if (tree.root().equals(old.root)) return tree;
  } catch (cause) {
    throw new UnreadableError('What was kept of the log is damaged.', { cause });
  }
  throw new UnreadableError('What was kept of the log is damaged: it is not the tree that its checkpoint is of.');
}

/** Leaf hashes from index `from`, one bundle at a time and in order. */
async function* newLeaves(input: FollowInput, from: number, size: number): AsyncGenerator<Buffer> {
  const waiting: Promise<Buffer>[] = [];
  const last = Math.ceil(size / TILE_WIDTH);
  for (let next = Math.floor(from / TILE_WIDTH), end = from === size ? next : last; next < end || waiting.length > 0;) {
    while (next < end && waiting.length < BUNDLES_AHEAD) {
      const leaves = leavesOf(input, next, size);
      // Awaited later; until then a rejection must not be unhandled.
      leaves.catch(() => undefined);
      waiting.push(leaves);
      next += 1;
    }
    const index = next - waiting.length;
    const hashes = await waiting.shift()!;
    yield hashes.subarray(Math.max(0, from - index * TILE_WIDTH) * HASH_BYTES);
  }
}

/** The hashes of the entries of one bundle, each of which must be of the channel. */
async function leavesOf({ read, log }: FollowInput, index: number, size: number): Promise<Buffer> {
  const width = tileWidth(0, index, size);
  const path = bundlePath({ index, width });
  const partial = await read(path);
  // The log may have grown, and have only the full bundle.
  const bundle = partial ?? (await required(read, bundlePath({ index, width: TILE_WIDTH })));
  const channel = parseLogName(log)?.channel ?? log;
  const entries = entriesIn(bundle, path).slice(0, width);
  if (entries.length !== width) throw new LogProblem('leaf', `${path} holds ${entries.length} entries, not ${width}.`);
  const hashes = Buffer.allocUnsafe(width * HASH_BYTES);
  for (const [place, entry] of entries.entries()) {
    const found = channelOf(entry);
    if (found !== channel) {
      const what = found === undefined ? 'is no entry of a ledger' : `is of ${found}`;
      throw new LogProblem('channel', `Entry ${index * TILE_WIDTH + place} ${what}, not of ${channel}.`);
    }
    hashes.set(leafHash(entry), place * HASH_BYTES);
  }
  return hashes;
}

function entriesIn(bundle: Bytes, path: string): Bytes[] {
  try {
    return entriesOf(bundle);
  } catch {
    // It can only fail in this way.
    throw new LogProblem('leaf', `${path} ends within an entry.`);
  }
}

function channelOf(entry: Bytes): string | undefined {
  try {
    const { channel } = JSON.parse(entry.toString('utf8')) as { channel?: unknown };
    return typeof channel === 'string' ? channel : undefined;
  } catch {
    return undefined;
  }
}

/** The entries do not hash to the root: an entry differs from its tile, or the tiles are of another tree. */
async function whatDiffers(
  input: FollowInput,
  { from, size, notes }: { from: number; size: number; notes: readonly string[] },
): Promise<LogProblem> {
  let start = from;
  for await (const hashes of newLeaves(input, from, size)) {
    const index = Math.floor(start / TILE_WIDTH);
    const tile = await input.read(tilePath({ level: 0, index, width: tileWidth(0, index, size) }));
    const stored = tile?.subarray((start % TILE_WIDTH) * HASH_BYTES);
    for (let place = 0; place < hashes.length; place += HASH_BYTES) {
      const ours = hashes.subarray(place, place + HASH_BYTES);
      if (stored?.subarray(place, place + HASH_BYTES).equals(ours) === true) continue;
      const entry = start + place / HASH_BYTES;
      return new LogProblem('leaf', `Entry ${entry} is not the one that the tree was made of.`, notes);
    }
    start += hashes.length / HASH_BYTES;
  }
  return new LogProblem('fork', `The ${size} entries do not go on from the ${from} that were seen: a fork.`, notes);
}

async function required(read: FollowInput['read'], path: string): Promise<Bytes> {
  const bytes = await read(path);
  if (bytes === undefined) throw new UnreadableError(`${path} is not there.`);
  return bytes;
}
