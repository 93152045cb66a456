import type { Sql } from '@sealgate/storage';
import type { Attachment, CaseRecord, FinalDecision, TimelineEvent } from '../domain/case-record.ts';
import type { CaseStatus } from '../domain/case-states.ts';
import { factsOf } from '../domain/decide-case.ts';
import type { DecidedCase } from '../domain/try-policy.ts';
import { CASE_COLUMNS, caseOf, type CaseRow } from './case-rows.ts';

export interface CaseFilter {
  readonly environment: string;
  readonly status?: CaseStatus;
  readonly subjectRef?: string;
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
}

export interface CasePage {
  readonly order: 'newest' | 'oldest';
  readonly limit: number;
  /** The case behind which the page begins, in that order. */
  readonly after: { readonly createdAt: Date; readonly caseId: string } | undefined;
}

/** Cases by when they were made. Each filter has an index with that order behind it. */
export async function listCases(
  sql: Sql,
  { environment, status, subjectRef, from, to }: CaseFilter,
  { order, limit, after }: CasePage,
): Promise<CaseRecord[]> {
  const values: unknown[] = [environment, limit];
  const place = (value: unknown) => `$${values.push(value)}`;
  const [sign, direction] = order === 'newest' ? ['<', 'DESC'] : ['>', 'ASC'];
  const conditions = [
    'c.environment = $1',
    ...(status === undefined ? [] : [`c.status = ${place(status)}`]),
    ...(subjectRef === undefined ? [] : [`c.subject_ref = ${place(subjectRef)}`]),
    ...(from === undefined ? [] : [`c.created_at >= ${place(from)}`]),
    ...(to === undefined ? [] : [`c.created_at < ${place(to)}`]),
    ...(after === undefined
      ? []
      : [`(c.created_at, c.case_id) ${sign} (${place(after.createdAt)}::timestamptz, ${place(after.caseId)}::text)`]),
  ];
  const rows = await sql.query<CaseRow>({
    text: `SELECT ${CASE_COLUMNS} FROM gate.cases c WHERE ${conditions.join(' AND ')}
            ORDER BY c.created_at ${direction}, c.case_id ${direction} LIMIT $2`,
    values,
  });
  return rows.map(caseOf);
}

export interface StatusCount {
  readonly status: CaseStatus;
  readonly count: number;
  readonly oldestAt: Date;
}

/** How many cases there are in each state that has any. */
export async function countCases(sql: Sql, environment: string): Promise<StatusCount[]> {
  const rows = await sql.query<{ status: CaseStatus; count: string; oldest: Date }>({
    text: `SELECT status, count(*) AS count, min(created_at) AS oldest FROM gate.cases WHERE environment = $1 GROUP BY status`,
    values: [environment],
  });
  return rows.map(({ status, count, oldest }) => ({ status, count: Number(count), oldestAt: oldest }));
}

type EventRow = Omit<TimelineEvent, 'at' | 'data'> & { readonly at: Date; readonly data: string };

/** Events of a case from behind a number, oldest first. */
export async function listEvents(sql: Sql, caseId: string, page: { after: number; limit: number }) {
  const rows = await sql.query<EventRow>({
    text: `SELECT seq, at, event, actor, data, prev_hash, hash FROM gate.timeline
            WHERE case_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
    values: [caseId, page.after, page.limit],
  });
  // It was written as canonical JSON by this service.
  return rows.map(({ at, data, ...row }) => ({ ...row, at: at.toISOString(), data: JSON.parse(data) as object }));
}

/** Of all cases of a try together: kinds and labels are held in memory. */
const MOST_ATTACHMENTS = 50_000;

type DecidedRow = CaseRow & {
  readonly was: FinalDecision;
  readonly reasonCodes: readonly string[];
  readonly kinds: readonly Attachment['kind'][] | null;
  readonly labels: readonly (string | null)[] | null;
};

/** The cases that were decided last, newest first: fewer than were asked for where these have very many attachments. */
export async function lastDecided(sql: Sql, environment: string, limit: number): Promise<DecidedCase[]> {
  const rows = await sql.query<DecidedRow>({
    text: `SELECT ${CASE_COLUMNS}, d.decision AS was, d.reason_codes AS "reasonCodes", a.kinds, a.labels
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
    values: [environment, limit, MOST_ATTACHMENTS],
  });
  return rows.map(({ was, reasonCodes, kinds, labels, ...row }) => {
    const record = caseOf(row);
    const attachments = (kinds ?? []).map((kind, at) => ({ kind, label: labels?.[at] ?? null }));
    return {
      caseId: record.caseId,
      subjectRef: record.subjectRef,
      policyVersion: record.policyVersion ?? '',
      decidedAt: record.decidedAt ?? record.updatedAt,
      was: { decision: was, reasonCodes },
      facts: factsOf(record, attachments),
    };
  });
}
