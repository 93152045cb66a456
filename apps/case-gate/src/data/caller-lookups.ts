import { liveKeyCondition, TickBatcher } from '@sealgate/api-keys';
import type { KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';
import type { LookedUp } from '../domain/check-entry.ts';
import type { EntryIds, GateCaller } from '../domain/gate-caller.ts';
import { factsOf, type FactMacs, type FactRow } from './entry-facts.ts';
import { areGrantsValid } from '../domain/key-grants.ts';
import type { SeenVersions } from './seen-versions.ts';

export type FoundCaller = Pick<GateCaller, 'keyId' | 'familyId' | 'environment' | 'scopes' | 'found'>;

export interface CallerLookups {
  /**
   * The live key with this hash, and what is known of the entries, in one round trip; undefined when there is no such
   * key. Settles within `withinMs`.
   * @throws AppError UNAVAILABLE when the database gives no answer: that is never "no such key".
   */
  find(keyHash: Buffer, entries: readonly EntryIds[], withinMs: number): Promise<FoundCaller | undefined>;
}

export interface CallerLookupsOptions {
  /** The primary, and nothing else: a replica of it may be behind. */
  readonly sql: Sql;
  readonly macs: FactMacs & { readonly keys: KeyedHasher };
  readonly seen: SeenVersions;
  readonly now: () => number;
  /** Of one query. */
  readonly deadlineMs: number;
  /** Told of a row that is not what was written. */
  readonly onCorrupt: (what: string) => void;
  /** Entries that may wait; past it keys alone are looked up. */
  readonly mostEntries?: number;
}

interface Asked {
  readonly keyHash: Buffer;
  readonly entries: readonly EntryIds[];
}

interface Row extends FactRow {
  /** From 1. */
  readonly ord: string;
  readonly is_standby: boolean;
  readonly key_hash: Buffer;
  readonly id: string;
  readonly owner_id: string;
  readonly family_id: string;
  readonly label: string;
  readonly key_prefix: string;
  readonly grants: unknown;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly replaces: string | null;
}

const TEXT = `SELECT q.ord, pg_is_in_recovery() AS is_standby,
    k.key_hash, k.id, k.owner_id, k.family_id, k.label, k.key_prefix, k.grants, k.created_at, k.expires_at, k.replaces,
    q.subject_ref, e.record_version, e.status, e.document, e.changed_at, e.mac,
    (SELECT max(h.record_version) FROM gate.eligibility_history h
      WHERE h.environment = k.owner_id AND h.subject_ref = q.subject_ref) AS newest_version,
    q.venue_id, v.name AS venue_name, v.active AS venue_active, v.record_version AS venue_version,
    v.created_at AS venue_created_at, v.updated_at AS venue_updated_at, v.mac AS venue_mac
  FROM unnest($1::bytea[], $2::text[], $3::text[]) WITH ORDINALITY q (key_hash, subject_ref, venue_id, ord)
  JOIN gate.api_keys k ON k.key_hash = q.key_hash AND ${liveKeyCondition('k', '$4')}
  LEFT JOIN gate.eligibility e ON e.environment = k.owner_id AND e.subject_ref = q.subject_ref
  LEFT JOIN gate.venues v ON v.environment = k.owner_id AND v.venue_id = q.venue_id`;

const MOST_AT_ONCE = 128;
const MOST_WAITING = 4096;

/**
 * Looks callers up on every request, because a revocation acts at once on every replica. All look-ups of one turn of the
 * event loop, keys and entries together, are one statement.
 */
export function callerLookups(options: CallerLookupsOptions): CallerLookups {
  const { mostEntries = 2048 } = options;
  let waitingEntries = 0;
  const batcher = new TickBatcher<Asked, FoundCaller | undefined>((asked) => ask(options, asked), {
    maxBatch: MOST_AT_ONCE,
    maxRunning: 2,
    maxWaiting: MOST_WAITING,
  });
  return {
    async find(keyHash, entries, withinMs) {
      const hasRoom = waitingEntries + entries.length <= mostEntries;
      const taken = hasRoom ? entries.length : 0;
      waitingEntries += taken;
      const call = batcher.call({ keyHash, entries: hasRoom ? entries : [] }).finally(() => (waitingEntries -= taken));
      try {
        const found = await withinTime(call, withinMs);
        if (found === undefined || hasRoom) return found;
        return { ...found, found: entries.map((): LookedUp => 'overloaded') };
      } catch (error) {
        const isOurs = error instanceof AppError && error.code !== 'OVERLOADED';
        if (isOurs || !(error instanceof AppError || error instanceof DatabaseUnavailableError)) throw error;
        throw unavailable(error);
      }
    },
  };
}

function unavailable(cause?: unknown): AppError {
  return new AppError('UNAVAILABLE', 'The key store cannot be reached.', { retryAfterSeconds: 1, cause });
}

async function ask(options: CallerLookupsOptions, asked: readonly Asked[]): Promise<(FoundCaller | undefined)[]> {
  const { sql, seen, now, deadlineMs } = options;
  const questions = asked.flatMap(({ keyHash, entries }): { keyHash: Buffer; entry: EntryIds | undefined }[] =>
    entries.length === 0 ? [{ keyHash, entry: undefined }] : entries.map((entry) => ({ keyHash, entry })),
  );
  const values = [
    questions.map(({ keyHash }) => keyHash),
    questions.map(({ entry }) => entry?.subjectRef ?? null),
    questions.map(({ entry }) => entry?.venueId ?? null),
    new Date(now()),
  ];
  const mark = seen.mark();
  const rows = await sql.query<Row>({ name: 'gate callers', text: TEXT, values }, { deadlineMs });
  // A standby may not have heard of a revocation yet, so it is as good as away.
  if (rows.some(({ is_standby: isStandby }) => isStandby !== false)) throw unavailable();
  const byPlace = new Map(rows.map((row) => [Number(row.ord), row]));
  let place = 0;
  return asked.map(({ entries }) => {
    const count = Math.max(1, entries.length);
    const own = Array.from({ length: count }, (_, offset) => byPlace.get(place + offset + 1));
    place += count;
    return callerOf(options, { rows: own, hasEntries: entries.length > 0, mark });
  });
}

function callerOf(
  options: CallerLookupsOptions,
  { rows, hasEntries, mark }: { rows: readonly (Row | undefined)[]; hasEntries: boolean; mark: number },
): FoundCaller | undefined {
  const [row] = rows;
  if (row === undefined) return undefined;
  const { macs, seen, onCorrupt } = options;
  const { id, owner_id: environment, family_id: familyId, label, key_prefix: keyPrefix, replaces } = row;
  const times = { createdAt: row.created_at, expiresAt: row.expires_at };
  const identity = { id, environment, familyId, label, keyPrefix, keyHash: row.key_hash, replaces, ...times };
  if (!areGrantsValid(identity, row.grants, macs.keys)) {
    onCorrupt(`key ${id}`);
    return undefined;
  }
  const { scopes } = row.grants;
  const found = hasEntries ? rows.map((each) => each && factsOf(each, { macs, seen, mark, onCorrupt })) : [];
  return { keyId: id, familyId, environment, scopes, found: found.map((facts) => facts ?? NOTHING_KNOWN) };
}

/** A row that did not come back with the others of its key: nothing is known, and nobody enters on that. */
const NOTHING_KNOWN: LookedUp = { isIntact: false, record: undefined, venue: undefined };

/** The call goes on where it is; whoever asked is told that it took too long. */
function withinTime<Value>(call: Promise<Value>, ms: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(unavailable()), Math.max(0, ms));
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
