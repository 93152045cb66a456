import type { RiskSite } from './risk-site.ts';

/** The number in the texts of the first asset; each copy has its own in its place. */
const firstNumber = '0000000';
/** Number of rows with the same time: they are ordered by id. */
const sharingAMoment = 3;
/** Rows per statement, so that none exceeds the statement timeout. */
const atOnce = 100_000;
/** The index of terms takes minutes for a million rows. */
const indexDeadlineMs = 600_000;

/**
 * Creates an organisation of `assets` assets: one by the API, the others as copies of its rows with their own id, name
 * and time, all before it. So all texts are as the service writes them, and a million rows take less than minutes.
 */
export async function fillAssets(site: RiskSite, assets: number): Promise<void> {
  const { sql, orgId } = site;
  const first = await makeFirst(site);
  // Bulk loads are faster without indexes; they are rebuilt at the end from their own definitions.
  const indexes = await sql.query<{ name: string; definition: string }>({
    text: `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
            WHERE indrelid = 'risk.resources'::regclass AND NOT indisprimary`,
  });
  for (const { name } of indexes) await sql.query({ text: `DROP INDEX ${name}` });
  const columns = await sql.query<{ name: string }>({
    text: `SELECT attname AS name FROM pg_attribute
            WHERE attrelid = 'risk.resources'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
  });
  const text = copiesOf(columns.map(({ name }) => name));
  for (let from = 1; from < assets; from += atOnce) {
    const to = Math.min(from + atOnce, assets) - 1;
    await sql.query({ text, values: [orgId, first.id, first.createdAt, assets, from, to] });
  }
  for (const { definition } of indexes) await sql.query({ text: definition }, { deadlineMs: indexDeadlineMs });
  await sql.query({ text: 'VACUUM (ANALYZE) risk.resources' });
  await sql.query({ text: 'CHECKPOINT' });
}

async function makeFirst({ surface, keys }: RiskSite): Promise<{ id: string; createdAt: string }> {
  const response = await fetch(`http://127.0.0.1:${surface.port}/api/assets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.owner}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      refId: `REF-${firstNumber}`,
      name: `Payment service ${firstNumber}, second site`,
      type: 'system',
      criticality: 'high',
      dataClassification: 'confidential',
      environment: 'production',
      department: 'operations',
    }),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`POST /api/assets answered ${response.status}: ${text.slice(0, 400)}`);
  return JSON.parse(text);
}

const numbered = (column: string): string => `replace(r.${column}, '${firstNumber}', c.number)`;
/** What differs in a copy, by column. */
const differing: Readonly<Record<string, string>> = {
  id: 'c.id',
  created_at: 'c.at',
  updated_at: 'c.at',
  folded: `replace(${numbered('folded')}, $2, c.id)`,
  title: numbered('title'),
  ref_id: numbered('ref_id'),
  doc: `replace(replace(${numbered('doc')}, $2, c.id), $3, c.moment)`,
  item: `replace(replace(${numbered('item')}, $2, c.id), $3, c.moment)`,
};

/**
 * Copies of the columns that the table of this build has. $1 organisation, $2 id and $3 time of the first asset, also in
 * its texts; $4 total, $5 to $6 these copies.
 */
const copiesOf = (columns: readonly string[]): string => `
  INSERT INTO risk.resources (${columns.join(', ')})
  SELECT ${columns.map((column) => differing[column] ?? `r.${column}`).join(', ')}
    FROM risk.resources r,
         LATERAL (SELECT 'ast_' || lpad(to_hex(number), 32, '0') AS id, lpad(number::text, 7, '0') AS number,
                         r.created_at - make_interval(secs => 1 + ($4::integer - number) / ${sharingAMoment}) AS at
                    FROM generate_series($5::integer, $6::integer) number) made,
         LATERAL (SELECT made.id, made.number, made.at,
                         to_char(made.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS moment) c
   WHERE r.org_id = $1 AND r.kind = 'asset' AND r.id = $2::text`;
