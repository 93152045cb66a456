import type { SecretUse } from '@sealgate/audit';
import type { KeyedHasher } from '@sealgate/auth';
import { heldIn } from '@sealgate/ledger-embedded';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';
import { eligibilityVersion, rowOf } from '../domain/eligibility-record.ts';
import { decisionMac, isDecided, sealDocument } from '../domain/seal-case.ts';
import { versionIds, versionOfRow, type VersionedRecord } from '../domain/versioned-record.ts';
import { CLAIM_DAYS } from './background.ts';
import type { InCaseTransaction } from './case-transaction.ts';
import { lockEligibility } from './eligibility-store.ts';
import { VERSIONS_AT_ONCE, type LedgerVersions } from './ledger-versions.ts';
import type { RecordingSql, RecordingTransactions, Urgency } from './ledger-writer.ts';
import type { SignedRows } from './signed-rows.ts';
import { membersAt, nameAt, pageText, SIGNED_TABLES, type AtPlace, type SignedTable } from './signed-tables.ts';

export interface RemakeParts {
  readonly sql: Sql;
  readonly inSql: RecordingTransactions;
  readonly inTransaction: InCaseTransaction;
  readonly macs: { readonly eligibility: KeyedHasher };
  readonly keys: Pick<SignedRows<never>, 'remake'>;
  readonly venues: Pick<SignedRows<never>, 'remake'>;
  readonly policies: Pick<SignedRows<never>, 'remake'>;
  readonly decisionMacs: KeyedHasher;
  readonly versions: LedgerVersions;
  /** Ids of the server secrets of this process; the first one signs. */
  readonly secretIds: readonly string[];
  /** Called for a row that fails its integrity check and stays unchanged. */
  readonly onRefused: (what: string, error: unknown) => void;
  /** Checked before each page. */
  readonly mayContinue: () => Promise<boolean>;
}

const ROWS_AT_ONCE = 500;
/** Past this many records in the outbox no more rows are remade. */
const MAX_WAITING = 2000;
const TRANSACTION_WITHIN_MS = 2000;

/**
 * Signs every row whose MAC was made by a former server secret with the current one, so that the former one can be
 * removed. Each row is one transaction, which first verifies it as a change would; a row that fails is left unchanged.
 * All processes accept MACs of either secret, so a crash is harmless and the next run continues. Rows whose MAC is part
 * of their ledger record get a next version there; the others keep theirs.
 *
 * @returns the number of rows remade, and whether all are done.
 */
export async function remakeMacs(parts: RemakeParts): Promise<{ readonly remade: number; readonly isDone: boolean }> {
  const earlier = parts.secretIds.slice(1);
  let remade = 0;
  if (earlier.length === 0) return { remade, isDone: true };
  for (const source of SOURCES) {
    for (let after: readonly string[] = ['', '']; ;) {
      if (!(await parts.mayContinue()) || (await isOutboxFull(parts.sql))) return { remade, isDone: false };
      const rows = await parts.sql.query<Place>({ text: source.text, values: [...after, ROWS_AT_ONCE] });
      for (const { place } of rows.filter(({ secrets }) => secrets.some((id) => earlier.includes(id))))
        remade += await tryRemake(parts, source, place);
      if (rows.length < ROWS_AT_ONCE) break;
      after = rows.at(-1)!.place;
    }
  }
  return { remade, isDone: true };
}

interface Place extends AtPlace {
  readonly secrets: readonly string[];
}

async function tryRemake(parts: RemakeParts, { what, remake }: Source, place: readonly string[]): Promise<0 | 1> {
  try {
    await remake(parts, place);
    return 1;
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) throw error;
    parts.onRefused(`${what} ${place.join(' ').trim()}`, error);
    return 0;
  }
}

export async function isOutboxFull(sql: Sql): Promise<boolean> {
  const text = 'SELECT count(*) AS waiting FROM (SELECT FROM gate.outbox LIMIT $1) o';
  const [row] = await sql.query<{ waiting: string }>({ text, values: [MAX_WAITING] });
  return Number(row?.waiting) >= MAX_WAITING;
}

interface Source {
  readonly what: string;
  /** Selects at most $3 rows after position ($1, $2): the position of each, and the secrets that made its MACs. */
  readonly text: string;
  /** @throws Error for a row that fails its integrity check. */
  readonly remake: (parts: RemakeParts, place: readonly string[]) => Promise<void>;
}

export type RowParts = Pick<RemakeParts, 'macs' | 'versions' | 'keys' | 'venues' | 'policies'>;

interface Remade {
  readonly place: readonly string[];
  readonly urgency: Urgency;
}

/** Signs a row again. Returns its version; undefined where there is no row. */
const SIGN: Readonly<
  Record<SignedTable['kind'], (parts: RowParts, sql: RecordingSql, remade: Remade) => Promise<number | undefined>>
> = {
  key: ({ keys }, sql, { place, urgency }) => keys.remake(sql, place, urgency),
  venue: ({ venues }, sql, { place, urgency }) => venues.remake(sql, place, urgency),
  policy: ({ policies }, sql, { place, urgency }) => policies.remake(sql, place, urgency),
  eligibility: remakeSubject,
};

/**
 * Signs a row again with the current secret: a next version with the same content, except of a subject, which keeps
 * its version. Does nothing where there is no row.
 * @throws Error for a row that fails its integrity check.
 */
export async function remakeRow(
  parts: RowParts,
  sql: RecordingSql,
  { table, ...remade }: Remade & { table: SignedTable },
) {
  const version = await SIGN[table.kind](parts, sql, remade);
  await enterAnchors(sql, parts.versions, { table, place: remade.place, version });
}

/** The gate's rows first. */
const SOURCES: readonly Source[] = [
  ...SIGNED_TABLES.map((table): Source => ({
    what: table.what,
    text: pageText(table, `ARRAY[split_part(${table.mac}, ':', 1)] AS secrets`, table.isVerified),
    remake: (parts, place) =>
      parts.inSql((sql) => remakeRow(parts, sql, { table, place, urgency: 'later' }), {
        deadlineMs: TRANSACTION_WITHIN_MS,
      }),
  })),
  {
    what: 'case',
    // Includes the MACs of its decisions.
    text: `SELECT ARRAY[environment, case_id] AS place, ARRAY[split_part(mac, ':', 1)] ||
             ARRAY(SELECT split_part(d.mac, ':', 1) FROM gate.decisions d WHERE d.case_id = c.case_id) AS secrets
             FROM gate.cases c WHERE case_id > $2 AND $1::text IS NOT NULL ORDER BY case_id LIMIT $3`,
    remake: remakeCase,
  },
];

/** Its ledger record holds the document, which stays the same; it is entered under the id of the current secret too. */
async function remakeSubject(
  { macs: { eligibility: macs }, versions }: RowParts,
  sql: RecordingSql,
  { place: [environment = '', subjectRef = ''], urgency }: Remade,
): Promise<number> {
  const stored = await lockEligibility(sql, { macs, versions }, { environment, subjectRef });
  if (stored.kind !== 'record') throw new Error('The record of the subject failed its integrity check.');
  const { record_version: version, mac, document } = rowOf(stored.record, macs);
  await sql.query({
    text: `UPDATE gate.eligibility SET mac = $4
            WHERE environment = $1 AND subject_ref = $2 AND record_version = $3`,
    values: [environment, subjectRef, version, mac],
  });
  await sql.enter(eligibilityVersion(stored.record, document), urgency);
  return version;
}

/** A case and its decisions. */
async function remakeCase(
  { inTransaction, decisionMacs }: RemakeParts,
  [environment = '', caseId = '']: readonly string[],
): Promise<void> {
  await inTransaction(async (tx, sql) => {
    const record = await tx.lockCase(environment, caseId);
    if (record === undefined) return;
    await tx.saveCase(record);
    const attachments = await tx.attachments(caseId);
    for (const decision of await tx.decisions(caseId)) {
      if (decision.mac === '' || decision.mac.startsWith(`${decisionMacs.currentId}:`)) continue;
      const document = sealDocument(record, decision, attachments);
      if (!isDecided(document, decision, decisionMacs))
        throw new Error(`A decision of the case ${caseId} failed its integrity check.`);
      await sql.query({
        text: 'UPDATE gate.decisions SET mac = $2 WHERE decision_id = $1',
        values: [decision.decision_id, decisionMac(document, decisionMacs)],
      });
    }
  });
}

/**
 * Without a former secret the ledger ids that it made cannot be found. So some earlier versions are entered under ids
 * of the current one, as ended, to keep known that they existed and how many there were.
 */
async function enterAnchors(
  sql: RecordingSql,
  versions: LedgerVersions,
  { table, place, version }: AtPlace & { readonly table: SignedTable; readonly version: number | undefined },
): Promise<void> {
  const [name, members] = [nameAt(table, place), membersAt(table, place)];
  const anchors: VersionedRecord[] = [];
  for (let at = 1; at < (version ?? 0); at = at === 1 ? VERSIONS_AT_ONCE : at + VERSIONS_AT_ONCE)
    anchors.push(versionOfRow(name, at, { ...members, carried_over: true }));
  const ids = anchors.map((record) => versionIds(versions.recordIds, name, record.version)[0]!);
  if (ids.length === 0) return;
  const held = await heldIn(sql, versions.target.channel, ids);
  const text = 'SELECT record_id FROM gate.outbox WHERE record_id = ANY ($1)';
  const waiting = new Set(
    (await sql.query<{ record_id: string }>({ text, values: [ids] })).map((row) => row.record_id),
  );
  for (const [at, anchor] of anchors.entries())
    if (!held.has(ids[at]!) && !waiting.has(ids[at]!)) await sql.enter(anchor, 'later');
}

const DAY_MS = 86_400_000;

/** The id of the secret that made a MAC or a fingerprint. Tables of many rows have an index of it. */
const secretOf = (column: string): string => `split_part(${column}, ':', 1)`;
/** On both sides of the current secret, $1, so that no row of that one is read. Nothing is before an empty text. */
const SIDES = [`> '' AND secret_id < $1`, '> $1'];
const former = (rows: string): string =>
  `(${SIDES.map((side) => `SELECT * FROM (${rows}) r WHERE secret_id ${side}`).join(' UNION ALL ')}) former`;

/** Rows whose MAC was made by another secret than the current one. Malformed MACs name no secret. */
const macsOf = ({ table, mac, isVerified }: Pick<SignedTable, 'table' | 'mac' | 'isVerified'>) =>
  `SELECT secret_id, count(*) AS rows, NULL AS last_at
     FROM ${former(`SELECT ${secretOf(mac)} AS secret_id FROM gate.${table} WHERE ${isVerified} AND ${mac} ~ '^[A-Za-z0-9_-]{1,32}:'`)}
    GROUP BY 1`;
const ALL = { mac: 'mac', isVerified: 'true' };

/** Everything verified with a server secret after it was made. Rows with MACs are signed again by `remakeMacs`. */
export const secretUses: readonly SecretUse[] = [
  ...SIGNED_TABLES.map((table) => ({ what: `${table.what}s`, text: macsOf(table) })),
  { what: 'cases', text: macsOf({ ...ALL, table: 'cases' }) },
  { what: 'decisions', text: macsOf({ ...ALL, table: 'decisions' }) },
  {
    // Until they are written, the ledger knows a remade row only under the id of the former secret.
    what: 'records on their way to the ledger',
    text: `SELECT h.id AS secret_id, count(*) AS rows, NULL AS last_at
             FROM (SELECT DISTINCT unnest(ids) AS id FROM gate.secret_holders) h, gate.outbox o
            WHERE h.id <> $1 AND o.record_type LIKE '%.record'
              AND (o.next_attempt_at > now() + interval '3 s' OR o.attempts > 5
                   OR o.data LIKE '%"carried_over":true%') GROUP BY 1`,
  },
  {
    what: 'claims on Idempotency-Keys',
    keptMs: CLAIM_DAYS * DAY_MS,
    text: `SELECT secret_id, count(*) AS rows, max(created_at) AS last_at
             FROM ${former(`SELECT ${secretOf('fingerprint')} AS secret_id, created_at FROM gate.claims`)} GROUP BY 1`,
  },
  { what: 'cursors of lists', keptMs: DAY_MS },
];
