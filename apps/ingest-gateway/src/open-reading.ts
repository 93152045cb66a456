import { existsSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { opensTooDeep } from '@sealgate/json';
import type { Log, Metrics } from '@sealgate/observability';
import { StartError, type Own } from '@sealgate/service-host';
import { startTimer } from '@sealgate/storage';
import { ReadingThread, type ReadingLimits } from './data/reading-thread.ts';
import type { AnyReading, AnyRules, ReadApart, ReadBody } from './domain/read-submission.ts';

const MEBIBYTE = 1_048_576;
/** A body of 1 MiB takes at most about 100 ms to read, so nearly all of a full queue is read within `waitMs`. */
const LIMITS: ReadingLimits = {
  waiting: { maxBytes: 96 * MEBIBYTE, maxBytesOfOne: 64 * MEBIBYTE },
  waitMs: 10_000,
  readMs: 10_000,
  idleMs: 30_000,
};

/** Heap of the thread itself, and heap per MiB of body for the worst case, a list of nothing but `{}`. */
const HEAP_BASE_MIB = 64;
const HEAP_PER_BODY_MIB = 96;
const YOUNG_MIB = 48;

/**
 * Opens the reader of large bodies. The thread is started by the first large body.
 * @throws StartError at startup where the thread's program is missing.
 */
export function openReading({
  bodyMaxBytes,
  log,
  metrics,
  own,
}: {
  readonly bodyMaxBytes: number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly own: Own;
}): ReadingThread {
  const thread = new ReadingThread({
    program: readingProgram(import.meta.filename),
    limits: LIMITS,
    heap: {
      maxOldGenerationSizeMb: HEAP_BASE_MIB + Math.ceil((HEAP_PER_BODY_MIB * bodyMaxBytes) / MEBIBYTE),
      maxYoungGenerationSizeMb: YOUNG_MIB,
    },
    startTimer,
    onLost: (reason) => log.warn('reading_thread_lost', { reason }),
  });
  const waiting = { name: 'ingest_waiting_bodies', help: 'Large bodies that are queued or being read.', labels: {} };
  metrics.gauge({ ...waiting, aggregator: 'sum', collect: (gauge) => gauge.set({}, thread.depth) });
  own('reading thread', () => thread.close());
  return thread;
}

/**
 * The thread's program has the same name in the source folder and in the bundle.
 * @throws StartError where it is missing.
 */
export function readingProgram(beside: string): URL {
  const file = join(dirname(beside), `reading-worker${extname(beside)}`);
  if (!existsSync(file)) throw new StartError(`${file} is missing: it belongs to the service.`);
  return pathToFileURL(file);
}

/** Bodies up to this size are always read on the main thread. */
const SMALL_BYTES = 4096;
/** Larger bodies are always read in the thread. A batch of a hundred small records is smaller: cheaper to read here. */
const LARGE_BYTES = 32_768;

/** Expected reading speed, about half of that of usual records. */
const BYTES_PER_MS = 16_384;
/** How far the bodies of one sender, together, may exceed the expected time before they are read in the thread. */
const MAX_EXCESS_MS = 10;
/** How long they are then read in the thread. */
const APART_MS = 10_000;
/** A sender is alone when no other has sent anything for this long. */
const ALONE_MS = 1000;
/** Maximum number of senders whose excess is remembered. */
const MOST_REMEMBERED = 10_000;

interface Account {
  excessMs: number;
  apartUntilMs: number;
}

export interface ReadingPlacesOptions {
  readonly readHere: (bytes: Buffer, rules: AnyRules) => AnyReading;
  readonly readApart: ReadApart;
  /** Milliseconds, with a fraction. */
  readonly now: () => number;
}

/**
 * Decides where a body is read. Large bodies are never read on the main thread; medium ones are, as long as the
 * sender's bodies take the time that their size suggests. Reading time depends on the content, by up to a factor of
 * ten, so senders are charged by time: expensive bodies go to the thread's queue, where their senders take turns, and
 * do not delay others. A sender that is alone is always read here: it delays nobody, it is cheaper, and on a busy
 * machine usual bodies look expensive too.
 */
export function readingPlaces({ readHere, readApart, now }: ReadingPlacesOptions): ReadBody {
  const accounts = new Map<string, Account>();
  const latest = { sender: '', atMs: Number.NEGATIVE_INFINITY };
  /** When any other sender than the latest one last sent a body. */
  let otherAtMs = Number.NEGATIVE_INFINITY;
  const read = (bytes: Buffer, rules: AnyRules, sender: string): AnyReading | Promise<AnyReading> => {
    const startedMs = now();
    if (latest.sender !== sender) otherAtMs = latest.atMs;
    latest.sender = sender;
    latest.atMs = startedMs;
    if (bytes.length <= SMALL_BYTES) return readHere(bytes, rules);
    const isAlone = startedMs - otherAtMs > ALONE_MS;
    const account = accounts.get(sender);
    const isApart = !isAlone && account !== undefined && startedMs < account.apartUntilMs;
    if (bytes.length > LARGE_BYTES || isApart) {
      // A body of nothing but brackets is refused here, without a place in the queue: the parser stops at the nesting
      // limit.
      return opensTooDeep(bytes, LARGE_BYTES) ? readHere(bytes, rules) : readApart(bytes, rules, sender);
    }
    if (isAlone) return readHere(bytes, rules);
    try {
      return readHere(bytes, rules);
    } finally {
      const endedMs = now();
      charge(account ?? opened(accounts, sender), endedMs - startedMs - bytes.length / BYTES_PER_MS, endedMs);
    }
  };
  // The result is of the kind that the rules ask for.
  return read as ReadBody;
}

function charge(account: Account, excessMs: number, nowMs: number): void {
  account.excessMs = Math.max(0, account.excessMs + excessMs);
  if (account.excessMs <= MAX_EXCESS_MS) return;
  account.excessMs = 0;
  account.apartUntilMs = nowMs + APART_MS;
}

function opened(accounts: Map<string, Account>, sender: string): Account {
  if (accounts.size >= MOST_REMEMBERED) accounts.delete(accounts.keys().next().value!);
  const account = { excessMs: 0, apartUntilMs: 0 };
  accounts.set(sender, account);
  return account;
}
