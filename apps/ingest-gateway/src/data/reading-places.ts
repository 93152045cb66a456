import { opensTooDeep } from '@sealgate/json';
import type { AnyReading, AnyRules, ReadApart, ReadBody } from '../domain/read-submission.ts';

/** Read here whoever sent it. */
const SMALL_BYTES = 4096;
/** Read apart whoever sent it. A batch of a hundred small records is less, and costs less here than a message would. */
const LARGE_BYTES = 32_768;

/** What reading may take: about twice what records of the usual kind take. */
const BYTES_PER_MS = 16_384;
/** How much longer the bodies of one sender may take, all together, before they are read apart. */
const MAX_EXCESS_MS = 10;
/** For how long they then are. */
const APART_MS = 10_000;
/** A sender beside whom nobody else has sent anything for so long keeps nobody waiting. */
const ALONE_MS = 1000;
/** Senders whose excess is remembered. */
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
 * Decides where a body is read. A large one never on the main thread; one of middle size there, as long as its sender's
 * bodies take the time that their bytes suggest. What a body takes depends on what is in it, up to ten times, so senders
 * are charged for the time and not for the bytes alone: whoever sends what is dear waits in the thread's queue, by turns
 * with others of his kind, and nobody waits for him. While nobody else sends anything there is nobody to wait, and reading
 * here costs less: a busy machine makes usual bodies look dear, too.
 */
export function readingPlaces({ readHere, readApart, now }: ReadingPlacesOptions): ReadBody {
  const accounts = new Map<string, Account>();
  const latest = { sender: '', atMs: Number.NEGATIVE_INFINITY };
  /** When somebody else than the latest sender was heard last. */
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
      // Nothing but brackets is refused where it stands, without a place in the queue: reading it ends there too.
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
  // What is read is of the kind that the rules are of.
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
