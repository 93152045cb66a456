import { createHash, randomBytes } from 'node:crypto';
import { migrate, type Sql } from '@sealgate/storage';
import { migrations } from '../src/gate-migrations.ts';
import { check, gateSite, newCase, sealedCase, type GateSite, type RunningGate } from './running-gate.ts';

/** All tables that decide something, or that a decision passes through. */
export const TABLES = ['api_keys', 'venues', 'policies', 'eligibility', 'eligibility_history', 'outbox'] as const;
export type Rows = Readonly<Record<string, string>>;

/** Something that allows entry, and how to end it. */
export interface Arranged {
  readonly ask: (gate: RunningGate) => Promise<string>;
  readonly act: () => Promise<{ readonly status: number }>;
  /** The rows that belong to it, by table. */
  readonly rows: Readonly<Record<string, string>>;
}

interface Change {
  readonly before: string;
  readonly after: RegExp;
  readonly arrange: () => Promise<Arranged>;
}

/** A site with the access of the service's own role to its tables. */
export interface UndoSite {
  readonly site: GateSite;
  readonly key: string;
  readonly secrets: string;
  /** A replica that the test has not used yet. */
  readonly other: RunningGate;
  asService<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
  run(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Reads all rows of all tables. */
  read(): Promise<Rows>;
  /** Restores rows as they were read. */
  restore(before: Rows, rows: Arranged['rows']): Promise<void>;
  idOfKey(raw: string): Promise<string>;
  /** Its ledger records, except seals. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  inLedger(name: string): Promise<any[]>;
  stop(): Promise<void>;
}

const ROLE = 'gate_undo';

export async function undoSite(): Promise<UndoSite> {
  const secrets = `s1:${randomBytes(32).toString('hex')}`;
  const site = await gateSite({ SERVER_SECRETS: secrets });
  await site.sql.query({ text: `DROP ROLE IF EXISTS ${ROLE}` });
  await site.sql.query({ text: `CREATE ROLE ${ROLE}` });
  await migrate({ url: site.database.url, sets: migrations, runtimeRoles: { gate: ROLE, ledger: ROLE } });
  const asService: UndoSite['asService'] = (work) =>
    site.sql.transaction(async (sql) => {
      await sql.query({ text: `SET LOCAL ROLE ${ROLE}` });
      return work(sql);
    });
  const run: UndoSite['run'] = (text, values = []) => asService((sql) => sql.query({ text, values }));
  const readTable = async (table: string): Promise<[string, string]> => {
    const rows = await run(`SELECT coalesce(json_agg(t), '[]')::text AS rows FROM gate.${table} t`);
    return [table, String(rows[0]?.['rows'])];
  };
  return {
    site,
    key: site.key,
    secrets,
    other: await site.replica(),
    asService,
    run,
    read: async () => Object.fromEntries(await Promise.all(TABLES.map(readTable))),
    restore: (before, rows) =>
      asService(async (sql) => {
        for (const [table, where] of Object.entries(rows)) {
          await remove(sql, table, where);
          await restoreRows(sql, table, { rows: before[table]!, where });
        }
      }),
    async idOfKey(raw) {
      const rows = await run('SELECT id FROM gate.api_keys WHERE key_hash = $1', [Buffer.from(hashOf(raw), 'hex')]);
      return String(rows[0]?.['id']);
    },
    async inLedger(name) {
      const rows = await site.sql.query({
        text: `SELECT data FROM ledger.records WHERE data LIKE $1 AND type <> 'case.seal' ORDER BY idx`,
        values: [`%"${name}"%`],
      });
      return rows.map(({ data }) => JSON.parse(String(data)));
    },
    async stop() {
      await site.sql.query({ text: `DROP OWNED BY ${ROLE}` });
      await site.sql.query({ text: `DROP ROLE ${ROLE}` });
      await site.stop();
    },
  };
}

export const remove = async (sql: Sql, table: string, where: string) => {
  if (table === 'api_keys') {
    // No row refers to it then.
    const text = `UPDATE gate.api_keys SET replaces = NULL WHERE replaces IN (SELECT id FROM gate.api_keys WHERE ${where})`;
    await sql.query({ text });
  }
  await sql.query({ text: `DELETE FROM gate.${table} WHERE ${where}` });
};
export const restoreRows = (sql: Sql, table: string, { rows, where }: { rows: string; where: string }) =>
  sql.query({
    text: `INSERT INTO gate.${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::gate.${table}, $1) t WHERE ${where}`,
    values: [rows],
  });

const hashOf = (raw: string) => createHash('sha256').update(raw).digest('hex');
/** Checks entry with a key; returns the status where it is refused. */
export const ask = async (gate: RunningGate, raw: string, subjectRef: string, venueId = 'hall') => {
  const body = { subject_ref: subjectRef, venue_id: venueId };
  const answer = await gate.ask('POST', '/v1/gate/check', { key: raw, body });
  const said = `${answer.body.decision} ${answer.body.reason_codes}`;
  return answer.status === 200 ? said : `${answer.status} ${said}`;
};

let names = 0;
export const newName = (prefix: string) => `${prefix}${(names += 1)}`;

export const CHANGE_NAMES = [
  'a subject that was revoked',
  'a subject that was suspended',
  'a subject that was declined',
  'a key that was revoked',
  'a key that was replaced',
  'a venue that was closed',
  'a policy version that was retired',
] as const;
export type ChangeName = (typeof CHANGE_NAMES)[number];

/** The changes that can be undone; each arrangement is new. */
export function changesOf({ site, key, idOfKey }: UndoSite): Readonly<Record<ChangeName, Change>> {
  const subjectChange = (action: string, after: RegExp): Change => ({
    before: 'allow ELIGIBLE',
    after,
    async arrange() {
      const { subjectRef } = await sealedCase(site, key);
      const where = `subject_ref = '${subjectRef}'`;
      return {
        ask: (gate) => check(gate, key, subjectRef),
        act: () => site.admin('POST', `/subjects/${subjectRef}/${action}`, { reason: 'Fraud' }),
        rows: { eligibility: where, eligibility_history: where },
      };
    },
  });

  const keyChange = (act: (id: string) => Promise<{ readonly status: number }>): Change => ({
    before: 'allow ELIGIBLE',
    after: /^401 deny UNAUTHENTICATED$/,
    async arrange() {
      const { subjectRef } = await sealedCase(site, key);
      const raw = await site.newKey();
      const id = await idOfKey(raw);
      return { ask: (gate) => ask(gate, raw, subjectRef), act: () => act(id), rows: { api_keys: `id = '${id}'` } };
    },
  });

  const changes: Readonly<Record<ChangeName, Change>> = {
    'a subject that was revoked': subjectChange(
      'revoke',
      /^deny (ELIGIBILITY_REVOKED|RECORD_INTEGRITY_FAILED|SUBJECT_UNKNOWN)$/,
    ),
    'a subject that was suspended': subjectChange(
      'suspend',
      /^deny (ELIGIBILITY_SUSPENDED|RECORD_INTEGRITY_FAILED|SUBJECT_UNKNOWN)$/,
    ),
    'a subject that was declined': {
      before: 'allow ELIGIBLE',
      after: /^deny (INELIGIBLE|RECORD_INTEGRITY_FAILED|SUBJECT_UNKNOWN)$/,
      async arrange() {
        const { subjectRef } = await sealedCase(site, key);
        const { caseId } = await newCase(site, key, { subject_ref: subjectRef });
        const where = `subject_ref = '${subjectRef}'`;
        const body = { policy_version: 'p1', decision: 'decline' };
        return {
          ask: (gate) => check(gate, key, subjectRef),
          act: () => site.ask('POST', `/v1/cases/${caseId}/decide`, { key, body }),
          rows: { eligibility: where, eligibility_history: where },
        };
      },
    },
    'a key that was revoked': keyChange((id) => site.admin('DELETE', `/keys/${id}`)),
    'a key that was replaced': keyChange((id) =>
      site.admin('POST', '/keys', { label: 'next', environment: 'live', scopes: ['gate:check'], replaces: id }),
    ),
    'a venue that was closed': {
      before: 'allow ELIGIBLE',
      after: /^deny (VENUE_UNKNOWN|RECORD_INTEGRITY_FAILED)$/,
      async arrange() {
        const venueId = newName('venue');
        await site.admin('POST', '/venues', { venue_id: venueId, name: 'Pier' });
        const { subjectRef } = await sealedCase(site, key, { create: { venue_ids: [venueId] } });
        return {
          ask: (gate) => check(gate, key, subjectRef, { venue_id: venueId }),
          act: () => site.admin('PATCH', `/venues/${venueId}`, { active: false }),
          rows: { venues: `venue_id = '${venueId}'` },
        };
      },
    },
    'a policy version that was retired': {
      before: '201 approve',
      after: /^(409 POLICY_VERSION_RETIRED|422 UNKNOWN_POLICY_VERSION|500 INTERNAL)$/,
      async arrange() {
        const version = newName('retired-');
        const rules = { rules: [], default: { decision: 'approve', reason_codes: [] } };
        await site.admin('POST', '/policies', { policy_version: version, status: 'active', rules });
        return {
          async ask(gate) {
            const { caseId } = await newCase(gate, key);
            const body = { policy_version: version };
            const answer = await gate.ask('POST', `/v1/cases/${caseId}/decide`, { key, body });
            return `${answer.status} ${answer.body.decision ?? answer.body.code}`;
          },
          act: () => site.admin('PATCH', `/policies/${version}`, { status: 'retired' }),
          rows: { policies: `policy_version = '${version}'` },
        };
      },
    },
  };
  return changes;
}
