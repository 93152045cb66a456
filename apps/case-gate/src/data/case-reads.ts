import { COUNT_LIMIT, tableList, type ListCondition, type ListShards } from '@sealgate/paging';
import type { Database, Sql } from '@sealgate/storage';
import type { CaseFile } from '../domain/assessor-pack.ts';
import type { CaseRecord, TimelineEvent, Attachment, FinalDecision } from '../domain/case-record.ts';
import { CASE_STATUSES, isOpen, type CaseStatus } from '../domain/case-states.ts';
import { factsOf } from '../domain/case-facts.ts';
import type { DecidedCase } from '../domain/manage-policies.ts';
import {
  ATTACHMENT_COLUMNS,
  attachmentOf,
  CASE_COLUMNS,
  caseOf,
  DECISION_COLUMNS,
  decisionOf,
  LISTED_CASE_COLUMNS,
  SEAL_COLUMNS,
  sealOf,
  searchedTexts,
  type Row,
} from './case-rows.ts';

export async function readCase(sql: Sql, environment: string, caseId: string): Promise<CaseRecord | undefined> {
  const text = `SELECT ${CASE_COLUMNS} FROM gate.cases c WHERE c.case_id = $1 AND c.environment = $2`;
  const [row] = await sql.query<Row>({ name: 'gate case', text, values: [caseId, environment] });
  return row === undefined ? undefined : caseOf(row);
}

type EventRow = Omit<TimelineEvent, 'at' | 'data'> & { readonly at: Date; readonly data: string };

function eventOf({ seq, at, event, actor, data, prev_hash, hash }: EventRow): TimelineEvent {
  // This service wrote the data as canonical JSON.
  return { seq, at: at.toISOString(), event, actor, data: JSON.parse(data), prev_hash, hash };
}

/** Reads everything about a case in one snapshot. */
export function readCaseFile(database: Database, environment: string, caseId: string): Promise<CaseFile | undefined> {
  const read = async (sql: Sql): Promise<CaseFile | undefined> => {
    const record = await readCase(sql, environment, caseId);
    if (record === undefined) return undefined;
    const values = [caseId];
    const events = await sql.query<EventRow>({
      text: 'SELECT seq, at, event, actor, data, prev_hash, hash FROM gate.timeline WHERE case_id = $1 ORDER BY seq',
      values,
    });
    const decisions = await sql.query<Row>({
      text: `SELECT ${DECISION_COLUMNS} FROM gate.decisions d WHERE case_id = $1 ORDER BY decided_at, decision_id`,
      values,
    });
    const attachments = await sql.query<Row>({
      text: `SELECT ${ATTACHMENT_COLUMNS} FROM gate.attachments a WHERE case_id = $1 ORDER BY position`,
      values,
    });
    const seals = await sql.query<Row>({
      text: `SELECT ${SEAL_COLUMNS} FROM gate.seals s WHERE case_id = $1 AND status = 'sealed' ORDER BY sealed_at, policy_version`,
      values,
    });
    return {
      record,
      timeline: events.map(eventOf),
      decisions: decisions.map(decisionOf),
      attachments: attachments.map(attachmentOf),
      seals: seals.map(sealOf),
    };
  };
  return database.transaction(read, { isSnapshot: true });
}

/** Stores the proof of a seal unless one is stored. Returns the stored one. */
export async function keepProof(sql: Sql, ledgerRecordId: string, proof: string): Promise<string> {
  const kept = await sql.query<{ proof: string }>({
    text: `UPDATE gate.seals SET proof = coalesce(proof, $2) WHERE ledger_record_id = $1 AND status = 'sealed'
           RETURNING proof`,
    values: [ledgerRecordId, proof],
  });
  const [row] = kept;
  if (row === undefined) throw new Error('There is no sealed record to store a proof of.');
  return row.proof;
}

export interface CaseFilter {
  readonly environment: string;
  readonly status?: CaseStatus;
  /** Whether the case waits for a decision. */
  readonly open?: 'true' | 'false';
  readonly subject_ref?: string;
  /** Inclusive. */
  readonly created_from?: Date;
  /** Exclusive. */
  readonly created_to?: Date;
}

/** The list of cases, in the order of their creation or of their last change. */
export const caseList = (sql: Sql) =>
  tableList(sql, {
    from: 'gate.cases l',
    columns: LISTED_CASE_COLUMNS,
    id: 'l.case_id',
    orders: {
      created_at: { by: 'l.created_at', type: 'timestamptz' },
      updated_at: { by: 'l.updated_at', type: 'timestamptz' },
    },
    searched: searchedTexts('case', 'l.case_id'),
    whereOf({ environment, status, open, subject_ref, created_from, created_to }: CaseFilter) {
      const states = CASE_STATUSES.filter(
        (each) => (status ?? each) === each && (open === undefined || (open === 'true') === isOpen(each)),
      );
      const given = [
        ['l.status = $', status],
        ['l.status = ANY ($)', open && states],
        ['l.subject_ref = $', subject_ref],
        ['l.created_at >= $', created_from],
        ['l.created_at < $', created_to],
      ] as const;
      const conditions: ListCondition[] = [['l.environment = $', environment]];
      const isPeriod = subject_ref === undefined && (created_from !== undefined || created_to !== undefined);
      const isWalked = subject_ref === undefined && open === undefined;
      return {
        conditions: [...conditions, ...given.filter(([, value]) => value !== undefined)],
        scope: [environment, 'case'],
        walked: isWalked ? ['created_at', ...(isPeriod ? [] : ['updated_at'])] : [],
        shards: {
          ...(open !== undefined &&
            subject_ref === undefined && { created_at: ofStates(states), updated_at: ofStates(states) }),
          ...(isPeriod && { updated_at: daysOf(environment, states, [created_from, created_to]) }),
        },
      };
    },
    read: (row: Row) => caseOf(row),
  });

/** An index has the cases of each state in either order. */
const ofStates = (states: readonly CaseStatus[]): ListShards => ({
  select: (place) => `SELECT unnest(${place(states)}::text[]) AS status`,
  isOfShard: 'l.status = s.status',
});

/** The days of a period in which cases were created, each once for every state: an index has their cases by last change. */
function daysOf(
  environment: string,
  states: readonly CaseStatus[],
  period: readonly [from: Date | undefined, to: Date | undefined],
): ListShards {
  return {
    select(place) {
      const ofEnvironment = `FROM gate.cases c WHERE c.environment = ${place(environment)}`;
      const end = (order: string) => `(SELECT c.created_at ${ofEnvironment} ORDER BY c.created_at ${order} LIMIT 1)`;
      const day = (time: string) => `(${time} AT TIME ZONE 'UTC')::date`;
      const time = (value: Date | undefined) => `${place(value ?? null)}::timestamptz`;
      const first = day(`greatest(${time(period[0])}, ${end('ASC')})`);
      const last = day(`least(${time(period[1])} - interval '1 millisecond', ${end('DESC')})`);
      const statuses = place(states);
      return `SELECT e.status, d.first + n.number AS day FROM (SELECT ${first} AS first, ${last} AS last) d
               CROSS JOIN LATERAL generate_series(0, d.last - d.first) n (number)
               CROSS JOIN unnest(${statuses}::text[]) e (status)`;
    },
    isOfShard: `l.status = s.status AND (l.created_at AT TIME ZONE 'UTC')::date = s.day`,
  };
}

export interface StatusCount {
  readonly status: CaseStatus;
  readonly count: number;
  readonly oldestAt: Date | null;
}

/**
 * Counts the cases in each state that has any, from the counts that are kept. The oldest is the first row of its state in
 * the index of states; written so that no other index is walked to it.
 */
export async function countCases(sql: Sql, environment: string): Promise<StatusCount[]> {
  const rows = await sql.query<{ status: CaseStatus; count: string; oldest: Date | null }>({
    text: `SELECT n.status, n.count,
                  (SELECT c.created_at FROM gate.cases c
                    WHERE (c.environment, c.status) >= ($1, n.status COLLATE "default")
                    ORDER BY c.environment, c.status, c.created_at LIMIT 1) AS oldest
             FROM (SELECT status, sum(cases) AS count FROM gate.case_counts WHERE environment = $1 GROUP BY status) n
            WHERE n.count > 0`,
    values: [environment],
  });
  return rows.map(({ status, count, oldest }) => ({ status, count: Number(count), oldestAt: oldest }));
}

/** How many events a case has, COUNT_LIMIT at most. */
export async function countEvents(sql: Sql, caseId: string): Promise<number> {
  const text = `SELECT count(*)::int AS n FROM (SELECT FROM gate.timeline WHERE case_id = $1 LIMIT ${COUNT_LIMIT}) t`;
  const [row] = await sql.query<{ n: number }>({ text, values: [caseId] });
  return row?.n ?? 0;
}

/** Events of a case after sequence number `after`, oldest first. */
export async function listEvents(sql: Sql, caseId: string, page: { after: number; limit: number }) {
  const rows = await sql.query<EventRow>({
    text: `SELECT seq, at, event, actor, data, prev_hash, hash FROM gate.timeline
            WHERE case_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
    values: [caseId, page.after, page.limit],
  });
  return rows.map(eventOf);
}

/** Limit over all cases of a trial, whose kinds and labels are held in memory. */
const MAX_ATTACHMENTS = 50_000;

type DecidedRow = Row & {
  readonly was: FinalDecision;
  readonly codes: string[];
  readonly kinds: readonly Attachment['kind'][] | null;
  readonly labels: readonly (string | null)[] | null;
};

/** The most recently decided cases, newest first; fewer than `limit` where they have too many attachments. */
export async function lastDecided(sql: Sql, environment: string, limit: number): Promise<DecidedCase[]> {
  const rows = await sql.query<DecidedRow>({
    text: `SELECT ${CASE_COLUMNS}, d.decision AS was, d.reason_codes AS codes, a.kinds, a.labels
             FROM (SELECT n.case_id, sum(n.attachment_count) OVER (ORDER BY n.decided_at DESC, n.case_id DESC) AS so_many
                     FROM (SELECT case_id, decided_at, attachment_count FROM gate.cases
                            WHERE environment = $1 AND decided_at IS NOT NULL
                            ORDER BY decided_at DESC, case_id DESC LIMIT $2) n) n
                  JOIN gate.cases c USING (case_id)
                  JOIN gate.decisions d ON d.decision_id = c.decision_id
                  CROSS JOIN LATERAL (SELECT array_agg(t.kind ORDER BY t.position) AS kinds,
                                             array_agg(t.label ORDER BY t.position) AS labels
                                        FROM gate.attachments t WHERE t.case_id = c.case_id) a
            WHERE n.so_many <= $3 ORDER BY c.decided_at DESC, c.case_id DESC`,
    values: [environment, limit, MAX_ATTACHMENTS],
  });
  return rows.map(({ was, codes, kinds, labels, ...row }) => {
    const record = caseOf(row);
    const attachments = (kinds ?? []).map((kind, at) => ({ kind, label: labels?.[at] ?? null }));
    return {
      case_id: record.case_id,
      subject_ref: record.subject_ref,
      policy_version: record.policy_version ?? '',
      decided_at: record.decided_at ?? record.updated_at,
      was: { decision: was, reason_codes: codes },
      facts: factsOf(record, attachments),
    };
  });
}
