import type { KeyedHasher } from '@sealgate/auth';
import { COUNT_LIMIT, searchText, tableList, type ListCondition } from '@sealgate/paging';
import { textArray, type Sql } from '@sealgate/storage';
import type { StoredEligibility } from '../domain/case-transaction.ts';
import { notInLedger, reviewOfNew, standingOf } from '../domain/declared-losses.ts';
import {
  eligibilityName,
  eligibilityVersion,
  isUnconfirmed,
  recordOf,
  rowOf,
  storedOf,
  type EligibilityRecord,
  type EligibilityRow,
  type Subject,
  type SubjectRow,
  type UnconfirmedRecord,
} from '../domain/eligibility-record.ts';
import { versionIds } from '../domain/versioned-record.ts';
import { searchedTexts, withTexts } from './case-rows.ts';
import type { LedgerVersions } from './ledger-versions.ts';

const SELECT = `SELECT e.record_version, e.status, e.document, e.changed_at, e.mac,
    (SELECT max(h.record_version) FROM gate.eligibility_history h
      WHERE h.environment = s.environment AND h.subject_ref = s.subject_ref) AS newest_version,
    CASE WHEN e.record_version IS NULL THEN ledger.held($3, $4) END AS held
  FROM (SELECT $1::text AS environment, $2::text AS subject_ref) s
  LEFT JOIN gate.eligibility e ON e.environment = s.environment AND e.subject_ref = s.subject_ref`;

interface EligibilityParts {
  readonly macs: KeyedHasher;
  readonly versions: LedgerVersions;
}

/**
 * Reads without a lock. A record is corrupt where the ledger holds a later version or other content, and so is a
 * missing record of which the ledger holds a version.
 * @throws LedgerUnavailableError when the ledger does not answer.
 */
export async function readEligibility(
  sql: Sql,
  { macs, versions }: EligibilityParts,
  id: Subject,
): Promise<StoredEligibility> {
  const name = eligibilityName(id);
  const idsOf = ({ version }: { version: number }) => versionIds(versions.recordIds, name, version);
  const firstIds = textArray(versionIds(versions.recordIds, name, 1));
  const values = [id.environment, id.subjectRef, versions.target.channel, firstIds];
  const [row] = await sql.query<SubjectRow & { held: string[] | null }>({
    name: 'gate eligibility',
    text: SELECT,
    values,
  });
  const losses = await versions.losses(sql);
  const review = reviewOfNew(losses);
  if (row === undefined) return { kind: 'none', review };
  const stored = storedOf(row, id, macs);
  if (stored.kind === 'none' && row.held === null) return { ...stored, review };
  if (stored.kind === 'record') {
    const version = eligibilityVersion(stored.record, row.document!);
    if (!(await versions.isContradicted(sql, version))) {
      const standing = standingOf(stored.record, losses);
      const isThere = !standing.mustBeHeld || (await versions.missing(sql, [version], idsOf)).size === 0;
      return { ...stored, review: (isThere ? standing : notInLedger(standing)).review };
    }
  }
  const said = stored.kind === 'corrupt' ? stored.newestVersion : (row.record_version ?? 0);
  const newest = (await versions.newest(sql, name)) ?? 0;
  // A few versions may be on their way to the ledger. A far higher number was forged to prevent a next version.
  return {
    kind: 'corrupt',
    newestVersion: said <= newest + MAX_IN_OUTBOX ? Math.max(said, newest) : newest,
    review,
  };
}

const MAX_IN_OUTBOX = 100;

/** Reads and locks until the transaction ends. The lock is by name, because the row may not exist yet. */
export async function lockEligibility(sql: Sql, parts: EligibilityParts, id: Subject): Promise<StoredEligibility> {
  await sql.query({
    text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))',
    values: [`gate.eligibility ${id.environment} ${id.subjectRef}`],
  });
  return readEligibility(sql, parts, id);
}

export async function saveEligibility(
  sql: Sql,
  macs: KeyedHasher,
  { record, event, actor }: { record: EligibilityRecord; event: string; actor: string },
): Promise<void> {
  const row = rowOf(record, macs);
  const values = [
    row.environment,
    row.subject_ref,
    row.record_version,
    row.status,
    row.document,
    row.changed_at,
    row.mac,
  ];
  const { environment, subject_ref: id } = row;
  const texts = searchText([id]);
  const statement = {
    name: 'gate save eligibility',
    text: `INSERT INTO gate.eligibility AS e (environment, subject_ref, record_version, status, document, changed_at, mac, folded)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
           ON CONFLICT (environment, subject_ref) DO UPDATE SET record_version = EXCLUDED.record_version,
             status = EXCLUDED.status, document = EXCLUDED.document, changed_at = EXCLUDED.changed_at, mac = EXCLUDED.mac`,
    values: [...values, texts],
  };
  await sql.query(withTexts('subject', { environment, id, texts }, statement));
  await sql.query({
    name: 'gate save eligibility history',
    text: `INSERT INTO gate.eligibility_history (environment, subject_ref, record_version, event, actor, document, changed_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7)
           ON CONFLICT (environment, subject_ref, record_version) DO UPDATE SET event = EXCLUDED.event,
             actor = EXCLUDED.actor, document = EXCLUDED.document, changed_at = EXCLUDED.changed_at`,
    values: [row.environment, row.subject_ref, row.record_version, event, actor, row.document, row.changed_at],
  });
}

/**
 * Authentic records that are unconfirmed, by subject, after `after` ('' from the first). Omits corrupt rows: a role
 * that may write the table can hide rows from a list anyway.
 */
export async function readUnconfirmed(
  sql: Sql,
  macs: KeyedHasher,
  { environment, limit, after }: { environment: string; limit: number; after: string },
): Promise<UnconfirmedRecord[]> {
  const found: UnconfirmedRecord[] = [];
  for (let behind = after; ;) {
    const rows = await sql.query<Omit<EligibilityRow, 'changed_at'> & { readonly changed_at: Date }>({
      text: `SELECT environment, subject_ref, record_version, status, document, changed_at, mac FROM gate.eligibility
              WHERE environment = $1 AND subject_ref > $2 AND ${UNCONFIRMED} ORDER BY subject_ref LIMIT $3`,
      values: [environment, behind, limit],
    });
    for (const row of rows) {
      const record = recordOf({ ...row, changed_at: row.changed_at.toISOString() }, macs);
      if (record !== undefined && isUnconfirmed(record)) found.push(record);
    }
    if (found.length >= limit || rows.length < limit) return found.slice(0, limit);
    behind = rows.at(-1)!.subject_ref;
  }
}

/** How many of them there are, COUNT_LIMIT at most; a corrupt row counts. */
export const countUnconfirmed = (sql: Sql, environment: string): Promise<number> =>
  countRows(sql, `gate.eligibility WHERE environment = $1 AND ${UNCONFIRMED}`, [environment]);

async function countRows(sql: Sql, from: string, values: readonly unknown[]): Promise<number> {
  const text = `SELECT count(*)::int AS n FROM (SELECT FROM ${from} LIMIT ${COUNT_LIMIT}) counted`;
  return (await sql.query<{ n: number }>({ text, values }))[0]?.n ?? 0;
}

export interface SubjectFilter {
  readonly environment: string;
  readonly status?: string;
}

/** A subject as its row says; `record` is undefined where the row fails its MAC. */
export interface ListedSubject extends Omit<EligibilityRow, 'document' | 'mac'> {
  readonly record: EligibilityRecord | undefined;
}

/** The subjects of an environment. */
export const subjectList = (sql: Sql, macs: KeyedHasher) =>
  tableList(sql, {
    from: 'gate.eligibility l',
    columns: 'l.environment, l.subject_ref, l.record_version, l.status, l.document, l.changed_at, l.mac',
    id: 'l.subject_ref',
    orders: {
      subject_ref: { by: 'l.subject_ref', type: 'text' },
      changed_at: { by: 'l.changed_at', type: 'timestamptz' },
    },
    searched: searchedTexts('subject', 'l.subject_ref'),
    whereOf({ environment, status }: SubjectFilter) {
      const conditions: ListCondition[] = [['l.environment = $', environment]];
      const ofStatus: ListCondition[] = status === undefined ? [] : [['l.status = $', status]];
      return {
        conditions: [...conditions, ...ofStatus],
        scope: [environment, 'subject'],
        walked: ['subject_ref', ...(status === undefined ? ['changed_at'] : [])],
      };
    },
    read({ document, mac, changed_at, ...row }: Omit<EligibilityRow, 'changed_at'> & { readonly changed_at: Date }) {
      const changed = changed_at.toISOString();
      const record = recordOf({ ...row, document, mac, changed_at: changed }, macs);
      return { ...row, changed_at: changed, record } satisfies ListedSubject;
    },
  });

/** As in the index eligibility_unconfirmed. In canonical JSON a quote inside a string is escaped. */
const UNCONFIRMED = `status <> 'revoked' AND strpos(document, '"unconfirmed":"') > 0`;

interface VersionRow {
  readonly recordVersion: number;
  readonly event: string;
  readonly actor: string;
  readonly changedAt: Date;
  readonly document: string;
}

export const countHistory = (sql: Sql, { environment, subjectRef }: Subject): Promise<number> =>
  countRows(sql, 'gate.eligibility_history WHERE environment = $1 AND subject_ref = $2', [environment, subjectRef]);

/** The versions of a record, newest first, before version `before`. */
export async function readHistory(
  sql: Sql,
  { environment, subjectRef }: Subject,
  { limit, before }: { limit: number; before: number | undefined },
): Promise<VersionRow[]> {
  return sql.query<VersionRow>({
    text: `SELECT record_version AS "recordVersion", event, actor, changed_at AS "changedAt", document
             FROM gate.eligibility_history
            WHERE environment = $1 AND subject_ref = $2 AND ($4::integer IS NULL OR record_version < $4)
            ORDER BY record_version DESC LIMIT $3`,
    values: [environment, subjectRef, limit, before ?? null],
  });
}
