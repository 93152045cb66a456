import assert from 'node:assert/strict';
import type { HashedSecrets, ServerSecrets } from '@sealgate/auth';
import type { Log, Metrics } from '@sealgate/observability';
import { backgroundLoop, type Sql } from '@sealgate/storage';
import { acceptedBy, ownAccepted, usedStatement, type AcceptedSecret, type OwnAccepted } from './accepted-secrets.ts';

/** Something made with a server secret that must be verified with the same secret later. */
export interface SecretUse {
  /** Plural noun for reports: `claims on Idempotency-Keys`. */
  readonly what: string;
  /** Lifetime of one; undefined if it is needed until it is made again with another secret. */
  readonly keptMs?: number;
  /**
   * Query returning `secret_id`, `rows`, `last_at` (time of the newest, or null) of what is stored, grouped by secret.
   * $1 is the id of the active secret. Undefined if nothing is stored or it cannot be counted.
   */
  readonly text?: string;
}

/** What still needs a secret, per use. */
interface SecretNeed {
  readonly what: string;
  /** Null if they cannot be counted. */
  readonly rows: number | null;
  /** Null if they are needed until they are made again. */
  readonly until: string | null;
}

interface SecretStatus {
  readonly id: string;
  /** Number of live processes that sign with it, only verify with it, and do not have it. */
  readonly makes: number;
  readonly checks: number;
  readonly unaware: number;
  readonly lastMadeAt: string | null;
  /** Empty once nothing made with it needs verification. */
  readonly needs: readonly SecretNeed[];
}

interface SecretReport {
  readonly processes: readonly { readonly process: string; readonly ids: readonly string[]; readonly seenAt: string }[];
  /** Secrets that a process has, and those that stored rows need. */
  readonly secrets: readonly SecretStatus[];
  readonly accepted: readonly AcceptedSecret[];
}

export interface SecretWatch {
  /** Queries the database, for ten seconds at most. Errors as `Sql`. */
  report(): Promise<SecretReport>;
  /** Whether every live process has the same active secret as this one. */
  isSettled(): Promise<boolean>;
  /** One round: records this process's secrets, and once an hour looks for rows that need a secret it does not have. */
  turn(): Promise<void>;
  /** Removes this process from the records. */
  leave(): Promise<void>;
}

interface SecretWatchOptions {
  readonly sql: Sql;
  /** The schema that `auditMigrations` was run in. */
  readonly schema: string;
  readonly secrets: ServerSecrets;
  /** Accepted tokens and keys by configuration variable. */
  readonly accepted: Readonly<Record<string, HashedSecrets>>;
  /** Unique id of this process. */
  readonly process: string;
  readonly uses: readonly SecretUse[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Interval of rounds. */
const ROUND_MS = 60_000;
/** A process without a record for this long is gone. */
const GONE_AFTER_MS = 2.5 * ROUND_MS;
const CHECK_INTERVAL_MS = 3_600_000;
const REMOVE_AFTER_MS = 86_400_000;
const COUNT_DEADLINE_MS = 10_000;
const LEAVE_DEADLINE_MS = 500;
/** Length of the stored hash prefix: enough to distinguish two values without revealing either. */
const CHECK_CHARACTERS = 22;
const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

interface Counted {
  secret_id: string;
  rows: string;
  last_at: Date | null;
}

interface Known {
  secret_id: string;
  last_made_at: Date | null;
}

interface Holder {
  process: string;
  ids: string[];
  accepts: string[] | null;
  seen_at: Date;
}

const shownHolder = ({ process, ids, seen_at: seenAt }: Holder) => ({ process, ids, seenAt: seenAt.toISOString() });

/**
 * Tracks a rotation of server secrets over all processes of a surface: which process has which secret, what is stored
 * under each, and until when it is needed. Secrets are identified by id; no value leaves the process.
 */
export function secretWatch(options: SecretWatchOptions): SecretWatch {
  const { sql, schema, secrets, process, now, log, metrics } = options;
  assert(PLAIN_NAME.test(schema), 'A schema has a plain lower-case name.');
  const [active] = secrets.ids as [string];
  let missingRows = 0;
  let checkedAtMs = -Infinity;
  let reportedDiffering = '';
  const own = ownAccepted(options.accepted, log);
  metrics.observedGauge({
    name: 'server_secret_missing_rows',
    help: 'Rows made with a server secret that this process does not have.',
    read: () => missingRows,
  });

  const record = async (): Promise<void> => {
    const differing = (await recordHolder(options, own)).join(', ');
    own.recorded();
    // Two values under one id: each refuses what the other made.
    if (differing !== '' && differing !== reportedDiffering) log.error('server_secret_differs', { ids: differing });
    reportedDiffering = differing;
  };

  const checkMissing = async (): Promise<void> => {
    const { secrets: found } = await report();
    const missing = found.filter(({ id, needs }) => needs.length > 0 && !secrets.ids.includes(id));
    missingRows = missing.flatMap(({ needs }) => needs).reduce((sum, { rows }) => sum + (rows ?? 1), 0);
    for (const { id, needs } of missing)
      log.error('server_secret_missing', { id, needs: needs.map(needText).join('; ') });
  };

  const report = async (): Promise<SecretReport> => {
    const nowMs = now();
    const holders = await liveHolders(options, nowMs);
    const knownRows = await sql.query<Known>({
      text: `SELECT secret_id, last_made_at FROM ${schema}.server_secrets ORDER BY secret_id LIMIT 1000`,
    });
    const counts = await countUses(options, active);
    const ids = new Set([...holders.flatMap((holder) => holder.ids), ...knownRows.map((row) => row.secret_id)]);
    for (const counted of counts) for (const row of counted ?? []) ids.add(row.secret_id);
    const all = [...ids].sort().map((id): SecretStatus => {
      const lastMadeAt = knownRows.find((row) => row.secret_id === id)?.last_made_at ?? null;
      const makes = holders.filter((holder) => holder.ids[0] === id).length;
      const unaware = holders.filter((holder) => !holder.ids.includes(id)).length;
      const needs = options.uses.flatMap((use, at) => needOf(use, counts[at], { id, lastMadeAt, nowMs }));
      return {
        id,
        makes,
        checks: holders.length - unaware - makes,
        unaware,
        lastMadeAt: lastMadeAt?.toISOString() ?? null,
        needs,
      };
    });
    return {
      processes: holders.map(shownHolder),
      // A secret that no process has and nothing needs is omitted.
      secrets: all.filter(({ makes, checks: checking, needs }) => makes + checking > 0 || needs.length > 0),
      accepted: await acceptedBy(sql, schema, holders),
    };
  };

  return {
    report,
    async isSettled() {
      const holders = await liveHolders(options, now());
      const isListed = holders.some((holder) => holder.process === process);
      return isListed && holders.every((holder) => holder.ids[0] === active);
    },
    async turn() {
      await record();
      if (now() - checkedAtMs < CHECK_INTERVAL_MS) return;
      await checkMissing();
      checkedAtMs = now();
    },
    async leave() {
      // What it made since its last round counts from now.
      const text = `WITH gone AS (DELETE FROM ${schema}.secret_holders WHERE process = $1),
          used AS (${usedStatement(schema, { names: '$4', at: '$3' })})
        UPDATE ${schema}.server_secrets SET last_made_at = greatest(last_made_at, $3) WHERE secret_id = $2`;
      await sql.query(
        { text, values: [process, active, new Date(now()), own.used()] },
        { deadlineMs: LEAVE_DEADLINE_MS },
      );
    },
  };
}

/** A watch that runs its rounds in the background until released. While the database is away nothing is recorded. */
export function startSecretWatch({
  own,
  beforeTurn,
  ...options
}: SecretWatchOptions & {
  readonly own: (name: string, release: () => Promise<void>) => void;
  readonly beforeTurn?: () => Promise<void>;
}): SecretWatch {
  const watch = secretWatch(options);
  const onFailure = (error: unknown) => options.log.debug('server_secrets_unseen', { reason: String(error) });
  const work = async (): Promise<void> => {
    await beforeTurn?.();
    await watch.turn();
  };
  const loop = backgroundLoop({ work, pauseMs: ROUND_MS, onFailure });
  own('server secrets', async () => {
    await loop.stop();
    await watch.leave().catch(onFailure);
  });
  return watch;
}

/** Records the secrets of this process; returns the ids recorded before with another value. */
async function recordHolder(
  { sql, schema, secrets, process, now }: SecretWatchOptions,
  own: OwnAccepted,
): Promise<string[]> {
  const values = secrets.derive('secret check').hashAll('');
  const checks = values.map(({ digest }) => digest.toString('base64url').slice(0, CHECK_CHARACTERS));
  const rows = await sql.query<{ secret_id: string; check_value: string }>({
    text: `WITH holder AS (
             INSERT INTO ${schema}.secret_holders AS h (process, ids, seen_at, accepts) VALUES ($1, $2, $4, $6)
             ON CONFLICT (process) DO UPDATE
               SET ids = EXCLUDED.ids, seen_at = EXCLUDED.seen_at, accepts = EXCLUDED.accepts
           ), gone AS (
             DELETE FROM ${schema}.secret_holders WHERE seen_at < $5
           ), used AS (
             ${usedStatement(schema, { names: '$7', at: '$4' })}
           )
           INSERT INTO ${schema}.server_secrets AS s (secret_id, check_value, first_seen_at, last_made_at)
           SELECT g.id, g.check_value, $4, CASE WHEN g.place = 1 THEN $4::timestamptz END
             FROM unnest($2::text[], $3::text[]) WITH ORDINALITY g (id, check_value, place) ORDER BY g.id
           ON CONFLICT (secret_id) DO UPDATE SET last_made_at = greatest(s.last_made_at, EXCLUDED.last_made_at)
           RETURNING secret_id, check_value`,
    values: [
      ...[process, secrets.ids, checks, new Date(now()), new Date(now() - REMOVE_AFTER_MS)],
      ...[own.names, own.used()],
    ],
  });
  return rows
    .filter((row) => checks[secrets.ids.indexOf(row.secret_id)] !== row.check_value)
    .map((row) => row.secret_id);
}

function liveHolders({ sql, schema }: SecretWatchOptions, nowMs: number): Promise<Holder[]> {
  return sql.query<Holder>({
    text: `SELECT process, ids, accepts, seen_at FROM ${schema}.secret_holders WHERE seen_at >= $1 ORDER BY process LIMIT 1000`,
    values: [new Date(nowMs - GONE_AFTER_MS)],
  });
}

/** Sequential, so that reports do not compete with the service for connections. */
async function countUses({ sql, uses }: SecretWatchOptions, active: string): Promise<(Counted[] | undefined)[]> {
  const counts: (Counted[] | undefined)[] = [];
  for (const { text } of uses) {
    const values = text?.includes('$1') === true ? [active] : [];
    counts.push(
      text === undefined ? undefined : await sql.query<Counted>({ text, values }, { deadlineMs: COUNT_DEADLINE_MS }),
    );
  }
  return counts;
}

interface Of {
  readonly id: string;
  readonly lastMadeAt: Date | null;
  readonly nowMs: number;
}

function needOf(
  { what, keptMs }: SecretUse,
  counted: Counted[] | undefined,
  { id, lastMadeAt, nowMs }: Of,
): SecretNeed[] {
  const row = counted?.find((one) => one.secret_id === id);
  if (counted !== undefined && row === undefined) return [];
  const rows = row === undefined ? null : Number(row.rows);
  if (keptMs === undefined) return [{ what, rows, until: null }];
  // If nothing is stored it is known to the minute.
  const lastMs =
    row === undefined ? (lastMadeAt?.getTime() ?? -Infinity) + ROUND_MS : (row.last_at?.getTime() ?? nowMs);
  const untilMs = lastMs + keptMs;
  // Stored rows are still verified, even if they should have been removed by now.
  return untilMs > nowMs || row !== undefined
    ? [{ what, rows, until: new Date(Math.max(untilMs, nowMs)).toISOString() }]
    : [];
}

function needText({ what, rows, until }: SecretNeed): string {
  const count = rows === null ? '' : `${rows} `;
  return until === null ? `${count}${what}` : `${count}${what} until ${until}`;
}
