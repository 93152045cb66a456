import type { Sql } from '@sealgate/storage';

/** The network of most rows. */
export const LARGE = 'demo';
/** Networks of a thousandth of the rows each. */
export const SMALL_NETWORKS = 200;
export const SOURCE = 'src_AAAAAAAAAAAAAAAAAAAAAA';

/**
 * Fills an empty database with networks and events as the doors write them: `rows` writes and a tenth as many other events
 * in one network, and a thousandth in each of 200 others; then as many counts of refused deliveries of one source, and
 * the most refused deliveries that are kept. Records are not in the ledger: events name none.
 */
export async function fillGateway(sql: Sql, rows: number): Promise<void> {
  const run = (text: string, values: readonly unknown[] = []) => sql.query({ text, values }, { deadlineMs: 600_000 });
  await run(`INSERT INTO ingest.networks (network_id, channels, folded)
             SELECT id, '{main,returns}', id FROM (SELECT '${LARGE}' AS id UNION ALL
                    SELECT 'small-' || n FROM generate_series(0, ${SMALL_NETWORKS - 1}) n) ids`);
  await run(
    `INSERT INTO ingest.sources (source_id, network_id, name, scheme, settings, secrets, enabled, created_at, changed_at)
     VALUES ($1, '${LARGE}', 'shop', 'github', '{}', '[]', true, '2030-01-01', '2030-01-01')`,
    [SOURCE],
  );
  await indexedLater(sql, 'ingest.writes_by_mark', () =>
    run(
      `INSERT INTO ingest.writes (event_id, first_index, record_count, stripped_fields, network_id, channel_name, key_id,
                                  request_id, types)
       SELECT (${DIGITS})::uuid, n, 0, 0, ${NETWORK}, CASE WHEN n % 20 = 0 THEN 'returns' ELSE 'main' END,
              CASE WHEN n % 100 = 3 THEN convert_to('${SOURCE}', 'UTF8') ELSE decode('00' || md5((n % 5)::text), 'hex') END,
              CASE WHEN n % 50 = 0 THEN convert_to('batch-' || n % 1000, 'UTF8') ELSE decode('00' || (${DIGITS}), 'hex') END,
              CASE WHEN n = 77 THEN '["demo.rare"]' ELSE '["demo.type' || n % 20 || '"]' END
         FROM ${ROWS}`,
      [rows],
    ),
  );
  await indexedLater(sql, 'ingest.events_by_mark', () =>
    run(
      `INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, request_id, stripped_fields, at)
       SELECT 'evt_' || ${DIGITS}, ${NETWORK}, 'key_' || md5((n % 5)::text), CASE WHEN n % 3 = 0 THEN 'write' ELSE 'ping' END,
              CASE WHEN n = 78 THEN 'unknown' WHEN n % 3 = 0 THEN 'rejected' ELSE 'committed' END, '[]', 'req_' || ${DIGITS}, 0,
              timestamptz '2030-01-01' + n * interval '1 second'
         FROM ${ROWS}`,
      [Math.round(rows / 10)],
    ),
  );
  await run(
    `INSERT INTO ingest.delivery_counts (source_id, position, outcome, code, reason, deliveries, request_id, last_at)
     SELECT $2, lpad(to_hex(1893456059999 + n::bigint * 60000), 12, '0') || substr(md5(n::text), 1, 20), 'refused',
            'UNAUTHENTICATED', 'clock-skew', 1, 'req_' || md5(n::text), timestamptz '2030-01-01' + n * interval '1 minute'
       FROM generate_series(1, $1::integer) n`,
    [rows, SOURCE],
  );
  await run(
    `INSERT INTO ingest.refused_deliveries (refused_id, source_id, is_authentic, code, reason, detail, delivery_id,
                                            request_id, at)
     SELECT 'rfd_' || lpad(to_hex(n), 32, '0'), $1, true, 'INVALID_JSON', 'json', 'No JSON.', 'delivery-' || n,
            'req_' || md5(n::text), timestamptz '2030-01-01' + n * interval '1 second'
       FROM generate_series(1, 10000) n`,
    [SOURCE],
  );
  for (const table of ['networks', 'sources', 'writes', 'events', 'delivery_counts', 'refused_deliveries'])
    await run(`VACUUM ANALYZE ingest.${table}`);
}

/** Writes rows without an index, and builds it afterwards: one by one would take ten times as long. */
async function indexedLater(sql: Sql, index: string, write: () => Promise<unknown>): Promise<void> {
  const text = 'SELECT pg_get_indexdef($1::regclass) AS text';
  const [definition] = await sql.query<{ text: string }>({ text, values: [index] });
  await sql.query({ text: `DROP INDEX ${index}` });
  await write();
  await sql.query({ text: definition!.text }, { deadlineMs: 600_000 });
}

/** The large network first, then the small ones. */
const ROWS = `generate_series(1, $1::integer + ${SMALL_NETWORKS} * ($1::integer / 1000)) n`;
const NETWORK = `CASE WHEN n <= $1 THEN '${LARGE}' ELSE 'small-' || (n - $1) % ${SMALL_NETWORKS} END`;
/** Of an id as they are made: its time first. */
const DIGITS = `lpad(to_hex(1893456000000 + n::bigint * 1000), 12, '0') || '7000' || substr(md5(n::text), 1, 16)`;
