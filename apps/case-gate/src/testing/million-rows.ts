import type { Sql } from '@sealgate/storage';

/** The environment of most rows. */
export const LARGE = 'live';
/** Environments of a thousandth of the rows each. */
export const SMALL_ENVIRONMENTS = 200;

/** Runs statements with a long deadline. */
type Run = (text: string, values?: readonly unknown[]) => Promise<unknown>;
const runOf =
  (sql: Sql): Run =>
  (text, values = []) =>
    sql.query({ text, values }, { deadlineMs: 600_000 });

/** Writes rows without an index, and builds it afterwards: one by one would take ten times as long. */
async function indexedLater(sql: Sql, index: string, write: (run: Run) => Promise<unknown>): Promise<void> {
  const run = runOf(sql);
  const [definition] = await sql.query<{ text: string }>({
    text: `SELECT pg_get_indexdef($1::regclass) AS text`,
    values: [index],
  });
  await run(`DROP INDEX ${index}`);
  await write(run);
  await run(definition!.text);
}

/**
 * Fill an empty database with rows as the doors write them: `rows` in one environment, and a thousandth of them in each of
 * 200 others. MACs are none: lists show such rows, the gate would deny.
 */
export async function fillCases(sql: Sql, rows: number): Promise<void> {
  await runOf(sql)(
    `INSERT INTO gate.cases (case_id, environment, subject_ref, case_type, status, venue_ids, external_ref, metadata,
                             created_at, updated_at, expires_at, mac, folded)
     SELECT ${idOf('case_')}, ${ENVIRONMENT}, 'subj_' || md5((n % ($1 / 2))::text), 'onboarding', ${STATUS}, '{*}',
            'order ' || n, '{}', ${AT}, ${AT} + (n % 1000) * interval '1 minute', ${AT} + interval '90 days', '',
            ${idOf('case_')} || ' subj_' || md5((n % ($1 / 2))::text) || ' order ' || n
       FROM ${ROWS}`,
    [rows],
  );
  await analyse(sql, 'cases', 'case_counts');
}

/** The words of the cases that are there. */
export async function fillWords(sql: Sql): Promise<void> {
  await indexedLater(sql, 'gate.texts_by_gram', (run) =>
    run(
      `INSERT INTO gate.texts (environment, kind, id, folded) SELECT environment, 'case', case_id, folded FROM gate.cases`,
    ),
  );
  await analyse(sql, 'texts');
}

/** Without their words. */
export async function fillSubjects(sql: Sql, rows: number): Promise<void> {
  await runOf(sql)(
    `INSERT INTO gate.eligibility (environment, subject_ref, record_version, status, document, changed_at, mac, folded)
     SELECT ${ENVIRONMENT}, 'subj_' || md5(n::text), 1 + n % 3,
            (ARRAY['eligible', 'eligible', 'eligible', 'pending', 'ineligible'])[1 + n % 5],
            '{"current":null,"record_version":1,"subject_ref":"subj_' || md5(n::text) || '"}', ${AT}, '',
            'subj_' || md5(n::text)
       FROM ${ROWS}`,
    [rows],
  );
  await analyse(sql, 'eligibility');
}

export async function fillDecisions(sql: Sql, rows: number): Promise<void> {
  await indexedLater(sql, 'gate.gate_decisions_by_mark', (run) =>
    run(
      `INSERT INTO gate.gate_decisions (decision_id, process, seq, environment, key_id, request_id, subject_ref, venue_id,
                                        action, decision, reason_code, fail_closed, policy_version, evaluated_at, hash)
       SELECT 'gd_01920000000070000000_' || lpad(n::text, 12, '0'), '01920000000070000000', n, ${ENVIRONMENT},
              'key_' || md5((n % 5)::text), 'req_' || md5(n::text), 'subj_' || md5((n % ($1 / 2))::text),
              'venue-' || n % 50, 'enter', CASE WHEN n % 10 = 0 THEN 'deny' ELSE 'allow' END,
              CASE WHEN n = 77 THEN 'INTERNAL_ERROR' WHEN n % 10 = 0 THEN 'INELIGIBLE' ELSE 'ELIGIBLE' END, false, 'p1',
              ${AT}, sha256(n::text::bytea)
         FROM ${ROWS}`,
      [rows],
    ),
  );
  await analyse(sql, 'gate_decisions');
}

async function analyse(sql: Sql, ...tables: readonly string[]): Promise<void> {
  for (const table of tables) await runOf(sql)(`VACUUM ANALYZE gate.${table}`);
}

/** The large environment first, then the small ones. */
const ROWS = `generate_series(1, $1::integer + ${SMALL_ENVIRONMENTS} * ($1::integer / 1000)) n`;
const ENVIRONMENT = `CASE WHEN n <= $1 THEN '${LARGE}' ELSE 'small_' || (n - $1) % ${SMALL_ENVIRONMENTS} END`;
const AT = `timestamptz '2030-01-01' + n * interval '1 second'`;
/** As ids are made: the time first. */
const idOf = (prefix: string) =>
  `'${prefix}' || lpad(to_hex(1893456000000 + n::bigint * 1000), 12, '0') || substr(md5(n::text), 1, 20)`;
/** Old cases have expired, and only among the newest is one in a thousand under way; a few are oddities. */
const STATUS = `CASE WHEN n % 100000 = 1 THEN 'withdrawn' WHEN n < 0.4 * $1 OR n % 3 = 0 THEN 'expired'
  WHEN n > 0.7 * $1 AND n % 1000 < 3 THEN 'in_review' ELSE 'sealed' END`;
