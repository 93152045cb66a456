import type { Database } from './database.ts';
import {
  DatabaseFullError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
  READ_ONLY,
  ServerUnfitError,
} from './database-errors.ts';
import { callableFunctions, MADE_BY_RELEASE_CANDIDATE, newestFile, type MigrationSet } from './migration-set.ts';
import { FUNCTIONS_ONLY_SCHEMA } from './runtime-grants.ts';
import type { Sql } from './sql.ts';

/** Checks whether a service can work with its database. */
export interface DatabaseCheck {
  /** The problem as a sentence; undefined if there is none. Ends within a second and a half; never rejects. */
  problem(): Promise<string | undefined>;
  /** Whether the newest check found it unreachable, or that it lets nobody in or takes no writes: for all, not for us. */
  readonly isAway: boolean;
  /**
   * Runs start-up work. If the database has a problem, this resolves at once and `work` runs as soon as the problem is
   * gone, retried until it succeeds or the check is closed; until then its error is reported as the problem.
   *
   * @throws the error of the first run of `work`, unless that is an outage.
   */
  whenReady(work: () => Promise<void>): Promise<void>;
  close(): void;
}

const WITHIN_MS = 700;
const RETRY_MS = 1000;

/** Checks connection, migrations, functions and rights of the role in one round trip; results are not cached. */
export function databaseCheck(options: {
  readonly sql: Sql & { readonly diskProblem?: Database['diskProblem'] };
  /** The migrations this version needs. A newer schema is fine: the next version may have migrated it already. */
  readonly sets: readonly MigrationSet[];
  /** A further check, run if all others pass: returns a problem as a sentence. Its errors count as the database's. */
  readonly further?: () => Promise<string | undefined>;
  /** Called with the first result and with each that differs from the previous one. */
  readonly onChange: (problem: string | undefined) => void;
  /** Runs `work` once after `delayMs`. Default: a timer that does not keep the process alive. */
  readonly schedule?: (work: () => void, delayMs: number) => void;
}): DatabaseCheck {
  const { sql, further, onChange, schedule = scheduleTimer } = options;
  const needs = options.sets.map(needOf);
  let reported: { readonly problem: string | undefined } | undefined;
  /** Deferred work that has not succeeded yet, with its problem. */
  const stuck = new Map<object, string>();
  let closed = false;
  let isAway = false;

  const check = async (): Promise<string | undefined> => {
    try {
      const unfit = await problemOf(sql, needs);
      const full = unfit === undefined ? await sql.diskProblem?.(WITHIN_MS) : undefined;
      isAway = unfit === TAKES_NO_WRITES || full !== undefined;
      return unfit ?? full ?? (await further?.());
    } catch (error) {
      const sentence = sentenceOf(error);
      isAway = !BY_THE_JOB.includes(sentence);
      return sentence;
    }
  };
  const report = (problem: string | undefined): string | undefined => {
    if (reported === undefined || reported.problem !== problem) onChange(problem);
    reported = { problem };
    return problem;
  };
  const later = (work: () => Promise<void>): void => {
    const retry = async (): Promise<void> => {
      if (closed) return;
      try {
        const problem = await check();
        if (problem !== undefined) {
          stuck.set(work, report(problem)!);
          return schedule(() => void retry(), RETRY_MS);
        }
        await work();
        stuck.delete(work);
        report([...stuck.values()][0]);
      } catch (error) {
        stuck.set(work, isOutage(error) ? sentenceOf(outageIn(error)) : (error as Error).message);
        report([...stuck.values()][0]);
        schedule(() => void retry(), RETRY_MS);
      }
    };
    schedule(() => void retry(), RETRY_MS);
  };

  return {
    problem: async () => report((await check()) ?? [...stuck.values()][0]),
    get isAway() {
      return isAway;
    },
    async whenReady(work) {
      const problem = report(await check());
      if (problem !== undefined) {
        stuck.set(work, problem);
        return later(work);
      }
      try {
        return await work();
      } catch (error) {
        if (!isOutage(error)) throw error;
        stuck.set(work, sentenceOf(outageIn(error)));
        return later(work);
      }
    },
    close: () => {
      closed = true;
    },
  };
}

/** What this version needs from a migration set. */
interface Need {
  readonly schema: string;
  readonly name: string;
  readonly file: string;
  readonly functions: readonly string[];
  /** Its presence tells a database of a release candidate. */
  readonly refused: string | null;
}

const needOf = (set: MigrationSet): Need => ({
  schema: set.schema,
  name: set.name,
  file: newestFile(set),
  functions: set.schema === FUNCTIONS_ONLY_SCHEMA ? callableFunctions(set) : [],
  refused: set.releaseCandidate?.routine ?? null,
});

interface Found {
  readonly schema: string;
  readonly name: string;
  readonly applied: string | null;
  readonly may_use: boolean | null;
  readonly may_call: boolean | null;
  readonly missing: string | null;
  readonly of_candidate: boolean;
  readonly may_write: boolean | null;
  readonly read_only: boolean;
}

// Every role can read the catalogue, also one without any right. Not prepared: it runs rarely.
const TEXT = `SELECT s.schema, s.name, obj_description(b.oid, 'pg_class') AS applied,
    has_schema_privilege(n.oid, 'USAGE') AS may_use,
    (SELECT bool_and(has_function_privilege(p.oid, 'EXECUTE')) FROM pg_proc p
      WHERE p.pronamespace = n.oid AND p.proname = ANY ($3::text[])) AS may_call,
    (SELECT min(f.name) FROM unnest($3::text[]) f (name) WHERE n.nspname = $4
        AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = n.oid AND p.proname = f.name)) AS missing,
    EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = n.oid AND p.proname = s.refused) AS of_candidate,
    (SELECT bool_and(has_table_privilege(t.oid, 'SELECT') AND has_table_privilege(t.oid, 'INSERT')
                     AND has_table_privilege(t.oid, 'UPDATE') AND has_table_privilege(t.oid, 'DELETE')) FROM pg_class t
      WHERE t.relnamespace = n.oid AND t.relkind IN ('r', 'p') AND NOT t.relispartition
        AND NOT starts_with(t.relname, 'migrations_') AND n.nspname <> $4) AS may_write,
    current_setting('transaction_read_only') = 'on' AS read_only
  FROM unnest($1::text[], $2::text[], $5::text[]) WITH ORDINALITY s (schema, name, refused, place)
  LEFT JOIN pg_namespace n ON n.nspname = s.schema
  LEFT JOIN pg_class b ON b.relnamespace = n.oid AND b.relname = 'migrations_' || s.name
 ORDER BY s.place`;

async function problemOf(sql: Sql, needs: readonly Need[]): Promise<string | undefined> {
  const values = [
    needs.map(({ schema }) => schema),
    needs.map(({ name }) => name),
    needs.flatMap(({ functions }) => functions),
    FUNCTIONS_ONLY_SCHEMA,
    needs.map(({ refused }) => refused),
  ];
  const rows = await sql.query<Found>({ text: TEXT, values }, { deadlineMs: WITHIN_MS });
  if (rows[0]?.read_only === true) return TAKES_NO_WRITES;
  if (rows.some(({ of_candidate: is }) => is)) return MADE_BY_RELEASE_CANDIDATE;
  for (const [place, { schema, name, file }] of needs.entries()) {
    const { applied = null, missing = null } = rows[place] ?? {};
    if (applied === null || applied < file) {
      const state = applied === null ? 'missing' : `at ${applied}`;
      return notMigrated(`${schema}/${name} is ${state}, ${file} is needed`);
    }
    if (missing !== null) return notMigrated(`the function ${schema}.${missing} is missing`);
  }
  const denied = rows.find(
    ({ may_use: use, may_call: call, may_write: write }) => !use || call === false || write === false,
  );
  if (denied === undefined) return undefined;
  return `the role of DATABASE_URL has no rights in the schema ${denied.schema}: run the migration job with the DATABASE_URL of this service`;
}

const notMigrated = (what: string): string =>
  `the database is not migrated for this version: ${what}: run the migration job of this version (migrate.js)`;

const TAKES_NO_WRITES = 'the database takes no writes: it is a standby, or was made read-only';

const NO_RIGHT =
  'the role of DATABASE_URL has no right to what this service needs: run the migration job with the DATABASE_URL of this service';

/** By SQLSTATE. */
const SENTENCES: Readonly<Record<string, string>> = {
  '28P01': 'the database refuses the password, or the role, of DATABASE_URL',
  '28000': 'the database does not let the role of DATABASE_URL in',
  '3D000': 'the database that DATABASE_URL names does not exist',
  '42501': NO_RIGHT,
  '53300': 'the database has no connection left for this service',
  [READ_ONLY]: TAKES_NO_WRITES,
};
const NOT_MIGRATED =
  'the database is not migrated for this version: run the migration job of this version (migrate.js)';
/** What the migration job repairs: the database itself works. */
const BY_THE_JOB: readonly string[] = [NOT_MIGRATED, NO_RIGHT];

function sentenceOf(error: unknown): string {
  if (error instanceof DatabaseFullError) return error.reason;
  if (error instanceof ServerUnfitError) return error.kind === 'stale' ? error.reason : TAKES_NO_WRITES;
  const sentence = SENTENCES[String(codeOf(error))] ?? SENTENCES[String(codeOf((error as Error).cause))];
  if (sentence !== undefined) return sentence;
  return error instanceof DatabaseRefusedError ? NOT_MIGRATED : 'the database does not answer';
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | undefined)?.code;

/** The outage behind an error: the error itself or its cause. */
function outageIn(error: unknown): DatabaseUnavailableError | undefined {
  if (error instanceof DatabaseUnavailableError) return error;
  const { cause } = error as { readonly cause?: unknown };
  return cause instanceof DatabaseUnavailableError ? cause : undefined;
}

const isOutage = (error: unknown): boolean => outageIn(error) !== undefined;

function scheduleTimer(work: () => void, delayMs: number): void {
  setTimeout(work, delayMs).unref();
}
