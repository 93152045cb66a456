import assert from 'node:assert/strict';
import type { HashedSecrets, ServerSecrets } from '@sealgate/auth';
import type { Log, Metrics } from '@sealgate/observability';
import { backgroundLoop, type Sql } from '@sealgate/storage';
import { acceptedBy, ownAccepted, usedStatement, type AcceptedSecret, type OwnAccepted } from './accepted-secrets.ts';

/** Something that a server secret makes, and that has to be checked with it later. */
export interface SecretUse {
  /** For people, in the plural: `claims on Idempotency-Keys`. */
  readonly what: string;
  /** How long one counts; undefined where it counts until it is made again with another secret. */
  readonly keptMs?: number;
  /**
   * Rows `secret_id`, `rows`, `last_at` (when the newest was made, or null): what is stored now, by the secret that made it.
   * $1 is the id of the secret that makes. Undefined where nothing is stored, or it cannot be counted.
   */
  readonly text?: string;
}

/** How much of one use still needs a secret. */
export interface SecretNeed {
  readonly what: string;
  /** Null where they cannot be counted. */
  readonly rows: number | null;
  /** Null where it ends when they are made again. */
  readonly until: string | null;
}

export interface SecretStatus {
  readonly id: string;
  /** How many of the processes that are there make with it, check with it, and do not know it. */
  readonly makes: number;
  readonly checks: number;
  readonly unaware: number;
  readonly lastMadeAt: string | null;
  /** Empty once nothing that it made has to be checked again. */
  readonly needs: readonly SecretNeed[];
}

export interface SecretReport {
  readonly processes: readonly { readonly process: string; readonly ids: readonly string[]; readonly seenAt: string }[];
  /** Those that a process knows, and those that something stored needs. */
  readonly secrets: readonly SecretStatus[];
  readonly accepted: readonly AcceptedSecret[];
}

export interface SecretWatch {
  /** Asks the database. Ends as `Sql` says, after ten seconds at most. */
  report(): Promise<SecretReport>;
  /** Whether every process that is there makes with the secret that this one makes with. */
  isSettled(): Promise<boolean>;
  /** One turn: tells what this process has, and once an hour looks for what needs a secret that it does not have. */
  turn(): Promise<void>;
  /** Tells that this process is gone. */
  leave(): Promise<void>;
}

export interface SecretWatchOptions {
  readonly sql: Sql;
  /** The schema that `auditMigrations` was run in. */
  readonly schema: string;
  readonly secrets: ServerSecrets;
  /** Tokens and keys by the variable that they stand in. */
  readonly accepted: Readonly<Record<string, HashedSecrets>>;
  /** Tells this process from every other. */
  readonly process: string;
  readonly uses: readonly SecretUse[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** How often a watch takes its turn. */
const SECRET_TURN_MS = 60_000;
/** A process that did not tell for so long is gone. */
const GONE_AFTER_MS = 2.5 * SECRET_TURN_MS;
const LOOK_EVERY_MS = 3_600_000;
const REMOVE_AFTER_MS = 86_400_000;
const COUNT_WITHIN_MS = 10_000;
const LEAVE_WITHIN_MS = 500;
/** Enough to tell two secrets apart, of a hash that tells nothing of either. */
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

/**
 * Follows an exchange of server secrets over all processes of a surface: which of them has which secret, what is stored under
 * each, and until when. Secrets are named by their ids; no value leaves the process.
 */
export function secretWatch(options: SecretWatchOptions): SecretWatch {
  const { sql, schema, secrets, process, now, log, metrics } = options;
  assert(PLAIN_NAME.test(schema), 'A schema has a plain lower-case name.');
  const [making] = secrets.ids as [string];
  let missingRows = 0;
  let lookedAtMs = -Infinity;
  let told = '';
  const own = ownAccepted(options.accepted, log);
  metrics.gauge({
    name: 'server_secret_missing_rows',
    aggregator: 'max',
    help: 'Rows that were made with a server secret that this process does not have.',
    collect: (gauge) => gauge.set({}, missingRows),
  });

  const tell = async (): Promise<void> => {
    const differing = (await tellHolder(options, own)).join(', ');
    own.told();
    // Another value under an id that was used before: what either made, the other refuses.
    if (differing !== '' && differing !== told) log.error('server_secret_differs', { ids: differing });
    told = differing;
  };

  const look = async (): Promise<void> => {
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
    const counts = await countUses(options, making);
    const ids = new Set([...holders.flatMap((holder) => holder.ids), ...knownRows.map((row) => row.secret_id)]);
    for (const counted of counts) for (const row of counted ?? []) ids.add(row.secret_id);
    const all = [...ids].sort().map((id): SecretStatus => {
      const lastMadeAt = knownRows.find((row) => row.secret_id === id)?.last_made_at ?? null;
      const makes = holders.filter((holder) => holder.ids[0] === id).length;
      const unaware = holders.filter((holder) => !holder.ids.includes(id)).length;
      const needs = options.uses.flatMap((use, at) => needOf(use, counts[at], { id, lastMadeAt, nowMs }));
      return {
        ...{ id, makes, checks: holders.length - unaware - makes, unaware },
        ...{ lastMadeAt: lastMadeAt?.toISOString() ?? null, needs },
      };
    });
    return {
      processes: holders.map((holder) => ({
        process: holder.process,
        ids: holder.ids,
        seenAt: holder.seen_at.toISOString(),
      })),
      // One that is over, and that nobody has any more, is no news.
      secrets: all.filter(({ makes, checks: checking, needs }) => makes + checking > 0 || needs.length > 0),
      accepted: await acceptedBy(sql, schema, holders),
    };
  };

  return {
    report,
    async isSettled() {
      const holders = await liveHolders(options, now());
      const isThere = holders.some((holder) => holder.process === process);
      return isThere && holders.every((holder) => holder.ids[0] === making);
    },
    async turn() {
      await tell();
      if (now() - lookedAtMs < LOOK_EVERY_MS) return;
      await look();
      lookedAtMs = now();
    },
    async leave() {
      // What it made since its last turn counts from now.
      const text = `WITH gone AS (DELETE FROM ${schema}.secret_holders WHERE process = $1),
          used AS (${usedStatement(schema, { names: '$4', at: '$3' })})
        UPDATE ${schema}.server_secrets SET last_made_at = greatest(last_made_at, $3) WHERE secret_id = $2`;
      await sql.query(
        { text, values: [process, making, new Date(now()), own.used()] },
        { deadlineMs: LEAVE_WITHIN_MS },
      );
    },
  };
}

/** A watch that takes its turns by itself until it is released. The database being away only means that nothing is told. */
export function startSecretWatch({
  own,
  ...options
}: SecretWatchOptions & { readonly own: (name: string, release: () => Promise<void>) => void }): SecretWatch {
  const watch = secretWatch(options);
  const unseen = (error: unknown) => options.log.debug('server_secrets_unseen', { reason: String(error) });
  const loop = backgroundLoop({ work: () => watch.turn(), pauseMs: SECRET_TURN_MS, onFailure: unseen });
  own('server secrets', async () => {
    await loop.stop();
    await watch.leave().catch(unseen);
  });
  return watch;
}

/** Writes down what this process has, and gives the ids under which another value was written down before. */
async function tellHolder(
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

/** One after the other: whoever asks has time, and the service's own work has not. */
async function countUses({ sql, uses }: SecretWatchOptions, making: string): Promise<(Counted[] | undefined)[]> {
  const counts: (Counted[] | undefined)[] = [];
  for (const { text } of uses) {
    const values = text?.includes('$1') === true ? [making] : [];
    counts.push(
      text === undefined ? undefined : await sql.query<Counted>({ text, values }, { deadlineMs: COUNT_WITHIN_MS }),
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
  // Where nothing is stored it is known to the minute.
  const lastMs =
    row === undefined ? (lastMadeAt?.getTime() ?? -Infinity) + SECRET_TURN_MS : (row.last_at?.getTime() ?? nowMs);
  const untilMs = lastMs + keptMs;
  // What is still there is still checked, also where it should have been removed by now.
  return untilMs > nowMs || row !== undefined
    ? [{ what, rows, until: new Date(Math.max(untilMs, nowMs)).toISOString() }]
    : [];
}

function needText({ what, rows, until }: SecretNeed): string {
  const count = rows === null ? '' : `${rows} `;
  return until === null ? `${count}${what}` : `${count}${what} until ${until}`;
}
