import type { Sql } from '@sealgate/storage';
import { columnsOf } from '../data/resource-writes.ts';
import { evidenceKind, type Evidence } from '../domain/evidence.ts';
import { riskKind } from '../domain/risk.ts';
import type { Doc, KindName } from '../domain/resource.ts';

/** How many rows to make, and of whom. */
interface ManyRows {
  /** An organisation that exists, with the people who own rows. */
  readonly orgId: string;
  readonly ownerIds: readonly string[];
  readonly risks: number;
  readonly evidence: number;
  readonly events: number;
  /** Evidence links to these. */
  readonly controlIds: readonly string[];
}

const DEPARTMENTS = 20;
const AT_ONCE = 100_000;
const START_MS = Date.UTC(2026, 0, 1);
/** What the rows made of a template have in place of these texts; each is one folded word. */
const TOKENS = ['tokenid', 'tokenref', 'tokentitle', 'tokendepartment', 'tokenowner', 'tokencontrol'] as const;
const TOKEN_TIME = new Date(0).toISOString();
const FAR_END = '2099-12-31T00:00:00.000Z';

/** A row as the doors write it, with tokens for what differs between the rows made of it. */
interface Template {
  readonly doc: Doc;
  readonly kind: KindName;
}

const writing = { id: 'tokenid', personId: 'tokenowner', nowMs: 0 };
const filtered = { department: 'tokendepartment', ownerId: 'tokenowner' };

/** One risk for each pair of likelihood and impact; every tenth is closed. Every fifth was rated 1 x 1 until 90 days later. */
const riskTemplates = (): Template[] =>
  Array.from({ length: 25 }, (_none, at) => {
    const inherent = { likelihood: 1 + (at % 5), impact: 1 + Math.floor(at / 5) };
    const current = { likelihood: 1 + ((at + 2) % 5), impact: inherent.impact };
    const more = { category: `category ${at % 7}`, status: at % 10 === 9 ? 'closed' : 'identified' } as const;
    const body = { title: 'tokentitle', refId: 'tokenref', inherent, current, ...filtered, ...more };
    return { kind: 'risk', doc: riskKind.make(body, writing) };
  });

/** One in four is approved, half of them without an end. */
const evidenceTemplates = (): Template[] =>
  Array.from({ length: 16 }, (_none, at) => {
    const made = evidenceKind.make(
      {
        title: 'tokentitle',
        kind: 'document',
        sha256: 'a'.repeat(64),
        controlIds: ['tokencontrol'],
        ...filtered,
      } as never,
      writing,
    );
    const states = ['collected', 'in_review', 'approved', 'rejected'] as const;
    const state = states[at % 4]!;
    const validUntil = state === 'approved' && at >= 8 ? FAR_END : null;
    const doc: Evidence = { ...made, state, validUntil };
    return { kind: 'evidence', doc };
  });

/**
 * Fills an organisation with rows that its doors might have written: the same columns, made of documents of the kinds, in
 * statements of many rows. Without changes in between: what retention leaves of older revisions.
 */
export async function fillOrganisation(sql: Sql, rows: ManyRows): Promise<void> {
  await fill(sql, riskTemplates(), { ...rows, count: rows.risks, prefix: 'rsk_' });
  await sql.query({
    text: `INSERT INTO risk.score_changes (org_id, risk_id, at, version, was_likelihood, was_impact, likelihood, impact)
           SELECT org_id, id, lower_until, 1, 1, 1, 5, 5 FROM risk.resources WHERE org_id = $1 AND lower_until IS NOT NULL`,
    values: [rows.orgId],
  });
  await fill(sql, evidenceTemplates(), { ...rows, count: rows.evidence, prefix: 'evd_' });
  await sql.query({
    text: `INSERT INTO risk.evidence_facts (org_id, evidence_id, owner_id, department, sensitive, approved, valid_until, fresh_at,
                                            control_ids, from_revision)
           SELECT r.org_id, r.id, r.owner_id, r.department, r.sensitive, r.facets @> '{state:approved}', r.valid_until, r.created_at,
                  ARRAY(SELECT substr(f, 6) FROM unnest(r.facets) f WHERE f LIKE 'link:%'), 1
             FROM risk.resources r WHERE r.org_id = $1 AND r.kind = 'evidence'`,
    values: [rows.orgId],
  });
  await sql.query({
    text: `INSERT INTO risk.changes (org_id, revision, kind, owner_id, department, sensitive, delta)
           SELECT org_id, 1, kind, owner_id, department, sensitive, count(*) FROM risk.resources
            WHERE org_id = $1 AND kind IN ('risk', 'evidence') GROUP BY 1, 3, 4, 5, 6`,
    values: [rows.orgId],
  });
  await fillAudit(sql, rows);
}

/** Removes the indexes of the tables while rows are made; returns what makes them again. */
export async function withoutIndexes(sql: Sql): Promise<() => Promise<void>> {
  const indexes = await sql.query<{ name: string; definition: string }>({
    text: `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
            WHERE indrelid IN ('risk.resources'::regclass, 'risk.audit_events'::regclass, 'risk.evidence_facts'::regclass)
              AND NOT indisprimary`,
  });
  for (const { name } of indexes) await sql.query({ text: `DROP INDEX ${name}` });
  return async () => {
    for (const { definition } of indexes) await sql.query({ text: definition }, { deadlineMs: 600_000 });
    for (const table of [
      'resources',
      'row_counts',
      'audit_events',
      'evidence_facts',
      'evidence_changes',
      'changes',
      'score_changes',
    ])
      await sql.query({ text: `VACUUM (ANALYZE) risk.${table}` }, { deadlineMs: 600_000 });
  };
}

interface Filling extends ManyRows {
  readonly count: number;
  readonly prefix: string;
}

async function fill(
  sql: Sql,
  templates: readonly Template[],
  { orgId, ownerIds, controlIds, count, prefix }: Filling,
): Promise<void> {
  const columns = templates.map(({ kind, doc }) => ({
    kind,
    ...columnsOf(kind, { n: 1, doc }, 1),
    // Set by a trigger.
    ...(kind === 'risk' && { lower_until: null }),
  }));
  const text = rowsText(Object.keys(columns[0]!));
  for (let from = 0; from < count; from += AT_ONCE) {
    const values = [orgId, prefix, from, Math.min(from + AT_ONCE, count) - 1, ownerIds, controlIds, START_MS];
    await sql.query({ text, values: [...values, JSON.stringify(columns)] }, { deadlineMs: 600_000 });
  }
}

/** $1 organisation, $2 prefix of ids, $3 to $4 numbers, $5 owners, $6 controls, $7 time of the first, $8 templates. */
function rowsText(names: readonly string[]): string {
  const values = names.map((name) => {
    if (name === 'created_at' || name === 'updated_at') return 'v.at';
    if (name === 'lower_until') return `CASE WHEN v.number % 5 = 0 THEN v.at + interval '90 days' END`;
    if (name === 'sensitive') return 'v.number % 50 = 7';
    if (name === 'facets' || name === 'counted') return `(${replaced(`t.${name}::text`)})::text[]`;
    return TEXTS.includes(name) ? replaced(`t.${name}`) : `t.${name}`;
  });
  return `INSERT INTO risk.resources (org_id, id, ${names.join(', ')})
    SELECT $1, v.id, ${values.join(', ')}
      FROM (SELECT n.number, to_timestamp(($7::bigint + n.number * 100) / 1000.0) AS at,
                   $2::text || substr(md5(n.number::text || $1), 1, 32) AS id,
                   lpad(n.number::text, 7, '0') AS ref,
                   (ARRAY['supplier', 'backup', 'payment', 'access', 'privacy', 'network', 'fraud', 'legal', 'power', 'cloud'])[1 + n.number % 10]
                     || ' ' || (ARRAY['outage', 'breach', 'delay', 'loss', 'misuse'])[1 + (n.number / 10) % 5] || ' of plant '
                     || n.number % 5000 AS title,
                   'department ' || n.number % ${DEPARTMENTS} AS department,
                   ($5::text[])[1 + n.number % cardinality($5::text[])] AS owner,
                   coalesce(($6::text[])[1 + n.number % greatest(cardinality($6::text[]), 1)], 'none') AS control
              FROM generate_series($3::integer, $4::integer) n (number)) v
      JOIN (SELECT row_number() OVER () - 1 AS place, t.* FROM jsonb_populate_recordset(NULL::risk.resources, $8::jsonb) t) t
        ON t.place = (v.number / 3) % jsonb_array_length($8::jsonb)`;
}

const TEXTS: readonly string[] = ['owner_id', 'department', 'folded', 'title', 'ref_id', 'doc', 'item'];

/** The text of a template with what this row has in place of its tokens. */
function replaced(text: string): string {
  const values = ['id', 'ref', 'title', 'department', 'owner', 'control'];
  const named = TOKENS.reduce((inner, token, at) => `replace(${inner}, '${token}', v.${values[at]})`, text);
  return `replace(${named}, '${TOKEN_TIME}', to_char(v.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;
}

/** Events without a place in the chain, as no process of the service wrote them. */
async function fillAudit(sql: Sql, { orgId, ownerIds, events }: ManyRows): Promise<void> {
  for (let from = 0; from < events; from += AT_ONCE)
    await sql.query(
      {
        text: `INSERT INTO risk.audit_events (id, at, actor, action, resource, resource_id, detail)
               SELECT 'evt_' || substr(md5(n::text || $1), 1, 32), to_timestamp($5::bigint / 1000 + n), ($4::text[])[1 + n % cardinality($4::text[])],
                      (ARRAY['risk.create', 'risk.update', 'risk.update', 'risk.update'])[1 + n % 4], 'risk',
                      'rsk_' || substr(md5((n / 4)::text || $1), 1, 32), jsonb_build_object('orgId', $1::text)::text
                 FROM generate_series($2::integer, $3::integer) n`,
        values: [orgId, from, Math.min(from + AT_ONCE, events) - 1, ownerIds, START_MS],
      },
      { deadlineMs: 600_000 },
    );
}
