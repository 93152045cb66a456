import { opensTooDeep } from '@sealgate/json';
import { readDelivery, type CanonicalDelivery, type DeliveryRules } from './read-delivery.ts';
import { readSubmission, type CanonicalSubmission, type ReadingRules } from './read-submission.ts';

export type AnyRules = ReadingRules | { readonly delivery: DeliveryRules };
export type AnyReading = CanonicalSubmission | CanonicalDelivery;
/** The result of reading by these rules. */
type ReadingBy<Rules extends AnyRules> = Rules extends { readonly delivery: DeliveryRules }
  ? CanonicalDelivery
  : CanonicalSubmission;

/** Reads a body by its rules. Throws as `readSubmission` and `readDelivery` do. */
export function readBody(bytes: Uint8Array, rules: AnyRules): AnyReading {
  return 'delivery' in rules ? readDelivery(bytes, rules.delivery) : readSubmission(bytes, rules);
}

/**
 * `readBody` off the main thread. `sender` identifies whose turn a body takes.
 *
 * Rejects as `readBody` throws; with OVERLOADED where the queue is full or a timeout expires; with UNAVAILABLE when the
 * process stops. It cannot hang.
 */
export type ReadApart = <Rules extends AnyRules>(
  bytes: Buffer,
  rules: Rules,
  sender: string,
) => Promise<ReadingBy<Rules>>;

/** `readBody` on the main thread or in the reading thread, depending on the body and its sender. Fails as both do. */
export type ReadBody = <Rules extends AnyRules>(
  bytes: Buffer,
  rules: Rules,
  sender: string,
) => ReadingBy<Rules> | Promise<ReadingBy<Rules>>;

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

/**
 * Decides where a body is read. Large bodies are never read on the main thread; medium ones are, as long as the
 * sender's bodies take the time that their size suggests. Reading time depends on the content, by up to a factor of
 * ten, so senders are charged by time: expensive bodies go to the thread's queue, where their senders take turns, and
 * do not delay others. A sender that is alone is always read here: it delays nobody, it is cheaper, and on a busy
 * machine usual bodies look expensive too.
 */
export function readingPlaces({
  readHere,
  readApart,
  now,
}: {
  readonly readHere: (bytes: Buffer, rules: AnyRules) => AnyReading;
  readonly readApart: ReadApart;
  /** Milliseconds, with a fraction. */
  readonly now: () => number;
}): ReadBody {
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
      // limit. A delivery of any depth is kept as text, so it is read to its end.
      return !('delivery' in rules) && opensTooDeep(bytes, LARGE_BYTES)
        ? readHere(bytes, rules)
        : readApart(bytes, rules, sender);
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
