import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as afterReading, setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { redisRefusal } from './redis-problem.ts';

/**
 * How far a database has come. Each promotion starts a new timeline; `accepted` is the time (milliseconds since the
 * epoch) of the last `sealgate database accept-timeline`, which outranks every timeline before it; 0 without one.
 */
export interface TimelinePosition {
  readonly accepted: number;
  readonly timeline: number;
}

/** What a pool or its memory met, for the log of the service. */
export type TimelineEvent =
  /** A server must not be used; once for each server and reason until it is used again. */
  | { readonly event: 'refused'; readonly server: string; readonly reason: string }
  /** A server gave no answer at the start, while nothing was remembered that could tell whether it is the newest. */
  | { readonly event: 'silent'; readonly server: string; readonly reason: string }
  /** A remembered value is no position, or could not be kept; once for each place until it works again. */
  | { readonly event: 'unreadable'; readonly where: string; readonly reason: string }
  /** A server whose timeline was accepted by an operator replaces what was known. */
  | { readonly event: 'accepted'; readonly database: string; readonly position: TimelinePosition; readonly by: string };

/**
 * The newest position of each database that was seen, by `<system identifier>.<database oid>`: in this process and,
 * where it has them, in a folder and in Redis. It only grows, and never holds the only copy of anything: without it the
 * servers are asked.
 */
export interface TimelineMemory {
  newest(database: string): TimelinePosition | undefined;
  isBehind(database: string, position: TimelinePosition): boolean;
  /**
   * Merges with Redis, both ways. Ends after 150 ms without an answer, and sooner where Redis is known to be away; never
   * rejects.
   */
  ask(database: string): Promise<void>;
  /** Remembers a position that a server told. Returns at once. */
  see(database: string, position: TimelinePosition): void;
  /** What Redis refuses to its user, as a sentence. */
  readonly refusal: string | undefined;
  report(event: TimelineEvent): void;
  /** Calls `listener` when a newer position than the known one was learnt. Returns the end of that. */
  onAdvance(listener: () => void): () => void;
  close(): void;
}

interface TimelineMemoryOptions {
  /** STATE_DIR: what was seen survives a restart there. */
  readonly folder?: string | undefined;
  /** Shares it with other processes. Commands must end. */
  readonly redis?: Pick<Redis | Cluster, 'eval'> | undefined;
  /** Whether Redis is known to give no answers: then a new connection hardly waits for one. Default: never. */
  readonly isAway?: () => boolean;
  readonly report?: (event: TimelineEvent) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Repeats `work`; returns the end of that. Default: every second, by a timer that keeps no process alive. */
  readonly repeat?: (work: () => void) => () => void;
}

const ASK_EVERY_MS = 1000;
/** Less than a cluster takes to follow redirections. */
const ANSWER_WITHIN_MS = 150;
/** A request may have waited for Redis already when it needs a new connection. */
const AWAY_WITHIN_MS = 25;
const KEPT_IN_REDIS_MS = 90 * 24 * 3_600_000;
/** Clocks of machines differ by less. An acceptance of a later time is no acceptance. */
const CLOCK_TOLERANCE_MS = 600_000;
const MOST_TIMELINE = 0xff_ff_ff_ff;
/** More databases than a process has; a bound against garbage in the folder. */
const MOST_KNOWN = 64;

/** Below 0 where `a` is older than `b`. */
export function comparePositions(a: TimelinePosition, b: TimelinePosition): number {
  return a.accepted - b.accepted || a.timeline - b.timeline;
}

/** Undefined unless it is a position that can have been seen by `nowMs`. */
function positionOf(accepted: string | undefined, timeline: string | undefined, nowMs: number) {
  const position = { accepted: Number(accepted), timeline: Number(timeline) };
  const isPast = position.accepted >= 0 && position.accepted <= nowMs + CLOCK_TOLERANCE_MS;
  return isPast && position.timeline >= 1 && position.timeline <= MOST_TIMELINE ? position : undefined;
}

/**
 * Stores the newer one of the stored and the given position (`<accepted>:<timeline>`, or empty to read only), and returns
 * it with a flag: whether a value was found that is no position. Such a value is replaced.
 */
const MERGE = `
local function parse(text)
  if type(text) ~= 'string' or #text > 30 then return nil end
  local accepted, timeline = string.match(text, '^(%d+):(%d+)$')
  accepted, timeline = tonumber(accepted), tonumber(timeline)
  if not accepted or accepted > tonumber(ARGV[2]) or timeline < 1 or timeline > ${MOST_TIMELINE} then return nil end
  return { accepted, timeline }
end
local found = redis.pcall('GET', KEYS[1])
if type(found) == 'table' and found.err and not string.find(found.err, 'WRONGTYPE', 1, true) then return found end
local stored, given = parse(found), parse(ARGV[1])
local isBad = (found and not stored) and 1 or 0
if stored and not (given and (given[1] > stored[1] or (given[1] == stored[1] and given[2] > stored[2]))) then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) / 2 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return { found, isBad }
end
if given then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3]) end
return { given and ARGV[1] or '', isBad }`;

/**
 * A file for each position, named by it and empty: processes that share the folder cannot overwrite a newer one, and a
 * file cut short by a crash tells the same.
 */
const FILE = /^timeline-(\d{1,20}\.\d{1,10})-(\d{1,15})-(\d{1,10})$/;

export function timelineMemory(options: TimelineMemoryOptions = {}): TimelineMemory {
  const { folder, redis, now = Date.now, repeat = everySecond, isAway = () => false } = options;
  const known = new Map<string, TimelinePosition>();
  const listeners = new Set<() => void>();
  /** Places that were reported as unreadable and have not worked since. */
  const bad = new Set<string>();
  let refusal: string | undefined;
  const report = (event: TimelineEvent): void => options.report?.(event);
  const reportBad = (where: string, reason: string): void => {
    if (!bad.has(where)) report({ event: 'unreadable', where, reason });
    bad.add(where);
  };

  const raise = (database: string, position: TimelinePosition): boolean => {
    const before = known.get(database);
    if (before !== undefined && comparePositions(position, before) <= 0) return false;
    if (before === undefined && known.size >= MOST_KNOWN) return false;
    known.set(database, position);
    if (before !== undefined) for (const listener of listeners) listener();
    return true;
  };
  const keep = (database: string, position: TimelinePosition): void => {
    if (folder === undefined) return;
    try {
      keepIn(folder, database, position);
      bad.delete(folder);
    } catch (error) {
      reportBad(folder, (error as Error).message);
    }
  };
  if (folder !== undefined) loadFrom(folder, { nowMs: now(), raise, reportBad });

  const merge = async (client: NonNullable<typeof redis>, database: string): Promise<void> => {
    const mine = known.get(database);
    const text = mine === undefined ? '' : `${mine.accepted}:${mine.timeline}`;
    const key = `sealgate:timeline:${database}`;
    try {
      const answer = await client.eval(MERGE, 1, key, text, now() + CLOCK_TOLERANCE_MS, KEPT_IN_REDIS_MS);
      const [winner, isBad] = answer as [unknown, unknown];
      if (isBad === 1)
        reportBad(`${key} in Redis`, 'The value is no position; it is replaced by what the servers tell.');
      else bad.delete(`${key} in Redis`);
      const position = positionOf(...(String(winner).split(':', 2) as [string, string]), now());
      if (position !== undefined && raise(database, position)) keep(database, position);
      refusal = undefined;
    } catch (error) {
      // Redis is away, or takes no writes: its own state is logged by the limits. What this process knows remains.
      refusal = redisRefusal(error) ?? refusal;
      if (refusal !== undefined) reportBad(`${key} in Redis`, refusal);
    }
  };
  const stop =
    redis === undefined
      ? undefined
      : repeat(() => {
          for (const database of known.keys()) void merge(redis, database);
        });

  return {
    newest: (database) => known.get(database),
    isBehind: (database, position) => {
      const newest = known.get(database);
      return newest !== undefined && comparePositions(position, newest) < 0;
    },
    ask: async (database) => {
      if (redis === undefined) return;
      const merged = merge(redis, database);
      await within(merged, isAway() ? AWAY_WITHIN_MS : ANSWER_WITHIN_MS);
    },
    see: (database, position) => {
      if (!raise(database, position)) return;
      keep(database, position);
      if (redis !== undefined) void merge(redis, database);
    },
    get refusal() {
      return refusal;
    },
    report,
    onAdvance: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => stop?.(),
  };
}

/** Ends after the time in any case; the work goes on. */
async function within(work: Promise<void>, ms: number): Promise<void> {
  const late = new AbortController();
  // If this process was blocked, an answer has arrived already and is read before the immediate.
  const isLate = delay(ms, undefined, { signal: late.signal }).then(() => afterReading());
  await Promise.race([work, isLate.catch(() => undefined)]);
  late.abort();
}

function everySecond(work: () => void): () => void {
  const timer = setInterval(work, ASK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

interface Loading {
  readonly nowMs: number;
  raise(database: string, position: TimelinePosition): unknown;
  reportBad(where: string, reason: string): void;
}

function loadFrom(folder: string, { nowMs, raise, reportBad }: Loading): void {
  try {
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      if (!name.startsWith('timeline-')) continue;
      const [, database, accepted, timeline] = FILE.exec(name) ?? [];
      const position = positionOf(accepted, timeline, nowMs);
      if (database === undefined || position === undefined)
        reportBad(join(folder, name), 'The name of the file is no position that can have been seen; remove it.');
      else raise(database, position);
    }
  } catch (error) {
    reportBad(folder, (error as Error).message);
  }
}

function keepIn(folder: string, database: string, { accepted, timeline }: TimelinePosition): void {
  const name = `timeline-${database}-${accepted}-${timeline}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), '', { flush: true });
  for (const other of readdirSync(folder)) {
    const [, ofDatabase, ofAccepted, ofTimeline] = FILE.exec(other) ?? [];
    if (ofDatabase !== database) continue;
    const older = { accepted: Number(ofAccepted), timeline: Number(ofTimeline) };
    // Removed only once the newer one is there; another process may have removed it already.
    if (comparePositions(older, { accepted, timeline }) < 0) rmSync(join(folder, other), { force: true });
  }
}
