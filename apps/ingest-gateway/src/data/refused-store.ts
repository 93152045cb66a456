import { SealedTextError, type SecretBox } from '@sealgate/auth';
import { AppError, type ErrorCode } from '@sealgate/errors';
import { tableList, type ListCondition } from '@sealgate/paging';
import { writeBehind, type Database, type Sql, type Statement } from '@sealgate/storage';
import { CONFLICT } from './deliveries-store.ts';
import { packed, packedBytes, unpacked } from './packed-delivery.ts';
import {
  DONE_OUTCOMES,
  type KeptDelivery,
  type ListedRefusal,
  type Refusal,
  type RefusalReason,
} from '../domain/refusals.ts';

/** What every list of refused deliveries is filtered by. */
export interface RefusalFilter {
  readonly reason?: string | undefined;
  readonly deliveryId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** The refusals of one code and reason. */
interface RefusalCount {
  readonly code: string;
  readonly reason: string | null;
  readonly deliveries: number;
  readonly lastAt: Date;
  readonly lastSkewSeconds: number | null;
}

export interface RefusedRow {
  refused_id: string;
  source_id: string;
  is_authentic: boolean;
  code: ErrorCode;
  reason: RefusalReason;
  header: string | null;
  skew_seconds: string | null;
  pointer: string | null;
  detail: string;
  delivery_id: string | null;
  media_type: string | null;
  body_bytes: string | null;
  request_id: string;
  event_id: string | null;
  at: Date;
  processed_at: Date | null;
  outcome: string | null;
  keep_until: Date | null;
}

const SELECT = `SELECT r.*, k.keep_until FROM ingest.refused_deliveries r
  LEFT JOIN ingest.kept_deliveries k ON k.refused_id = r.refused_id AND k.keep_until > $2 WHERE r.source_id = $1`;

interface RefusedParts {
  readonly sql: Sql;
  /** Reads lists and counts. */
  readonly look?: Sql;
  readonly box: SecretBox;
  readonly now: () => number;
}

/** The conditions of a filter on rows `l`; those without a value are left out by `givenOf`. */
export const refusalConditions = ({ reason, deliveryId, requestId, from, to }: RefusalFilter): ListCondition[] => [
  ['l.reason = $', reason],
  ['l.delivery_id = $', deliveryId],
  ['l.request_id = $', requestId],
  ['l.at >= $', from],
  ['l.at < $', to],
];

export const givenOf = (conditions: readonly ListCondition[]): ListCondition[] =>
  conditions.filter(([, value]) => value !== undefined);

/** A row of a list, with the end of what is kept of it while it is kept. */
export const listedRefusal = ({ keep_until, ...row }: RefusedRow, nowMs: number): ListedRefusal =>
  refusalOf({ ...row, keep_until: keep_until !== null && keep_until.getTime() > nowMs ? keep_until : null });

export type RefusedStore = ReturnType<typeof refusedStore>;

/** Refused deliveries in PostgreSQL. */
export function refusedStore({ sql, look = sql, box, now }: RefusedParts) {
  return {
    list: tableList(look, {
      // At most KEPT rows of a source, which are all read.
      from: 'ingest.refused_deliveries l LEFT JOIN ingest.kept_deliveries k ON k.refused_id = l.refused_id',
      columns: 'l.*, k.keep_until',
      id: 'l.refused_id',
      orders: { at: { by: 'l.refused_id', type: 'text' } },
      whereOf: ({ sourceId, code, ...filter }: RefusalFilter & { sourceId: string; code?: string | undefined }) => ({
        conditions: givenOf([['l.source_id = $', sourceId], ['l.code = $', code], ...refusalConditions(filter)]),
      }),
      read: (row: RefusedRow) => listedRefusal(row, now()),
    }),
    async find(sourceId: string, refusedId: string): Promise<ListedRefusal | undefined> {
      const text = `${SELECT} AND r.refused_id = $3`;
      const [row] = await sql.query<RefusedRow>({ text, values: [sourceId, new Date(now()), refusedId] });
      return row === undefined ? undefined : refusalOf(row);
    },
    /**
     * The kept delivery; undefined where none is kept.
     * @throws AppError UNAVAILABLE where this process cannot decrypt it.
     */
    async open(refusedId: string): Promise<KeptDelivery | undefined> {
      const [row] = await sql.query<{ secret_id: string; sealed: Buffer }>({
        text: 'SELECT secret_id, sealed FROM ingest.kept_deliveries WHERE refused_id = $1 AND keep_until > $2',
        values: [refusedId, new Date(now())],
      });
      if (row === undefined) return undefined;
      try {
        return unpacked(box.openBytes({ keyId: row.secret_id, bytes: row.sealed }, refusedId));
      } catch (error) {
        if (!(error instanceof SealedTextError)) throw error;
        throw new AppError('UNAVAILABLE', 'The delivery cannot be decrypted by this process.', { cause: error });
      }
    },
    /** What is done needs no body any more. Of calls at once, the first that is done stays the outcome. */
    async processed(refusedId: string, result: { outcome: string; isDone: boolean; eventId: string | undefined }) {
      const { outcome, isDone, eventId } = result;
      await sql.query({
        text: `UPDATE ingest.refused_deliveries SET processed_at = $2, outcome = $3, event_id = coalesce($4, event_id)
                WHERE refused_id = $1 AND (outcome IS NULL OR NOT outcome = ANY ($5))`,
        values: [refusedId, new Date(now()), outcome, eventId ?? null, DONE_OUTCOMES],
      });
      const text = 'DELETE FROM ingest.kept_deliveries WHERE refused_id = $1';
      if (isDone) await sql.query({ text, values: [refusedId] });
    },
    /** By code and reason, in whole minutes. */
    async counts(sourceId: string, { from, to }: Pick<RefusalFilter, 'from' | 'to'>): Promise<RefusalCount[]> {
      return look.query<RefusalCount>({
        text: `SELECT code, reason, sum(deliveries)::float8 AS deliveries, max(last_at) AS "lastAt",
                      (array_agg(skew_seconds::float8 ORDER BY last_at DESC))[1] AS "lastSkewSeconds"
                 FROM ingest.delivery_counts
                WHERE source_id = $1 AND outcome IN ('refused', '${CONFLICT}') AND position >= $2 AND position < $3
                GROUP BY code, reason ORDER BY code, reason`,
        values: [sourceId, positionAt(from?.getTime() ?? 0), to === undefined ? 'g' : positionAt(to.getTime())],
      });
    },
    /** Deletes kept bodies whose time is over. */
    async expire(): Promise<void> {
      const text = 'DELETE FROM ingest.kept_deliveries WHERE keep_until <= $1';
      await sql.query({ text, values: [new Date(now())] });
    },
    /** Deletes what is kept of a source, in the transaction that deletes it or ends the keeping. */
    async forget(sourceId: string, transaction: Sql): Promise<void> {
      const text = 'DELETE FROM ingest.kept_deliveries WHERE source_id = $1';
      await transaction.query({ text, values: [sourceId] });
    },
  };
}

export const positionAt = (ms: number): string => Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');

/** A row as it is listed. */
export function refusalOf(row: RefusedRow): ListedRefusal {
  return {
    refusedId: row.refused_id,
    sourceId: row.source_id,
    isAuthentic: row.is_authentic,
    code: row.code,
    reason: row.reason,
    header: row.header ?? undefined,
    skewSeconds: row.skew_seconds === null ? undefined : Number(row.skew_seconds),
    pointer: row.pointer ?? undefined,
    detail: row.detail,
    deliveryId: row.delivery_id ?? undefined,
    mediaType: row.media_type ?? undefined,
    bodyBytes: row.body_bytes === null ? undefined : Number(row.body_bytes),
    requestId: row.request_id,
    eventId: row.event_id ?? undefined,
    at: row.at,
    keptUntil: row.keep_until ?? undefined,
    processedAt: row.processed_at ?? undefined,
    outcome: row.outcome ?? undefined,
  };
}

const MEBIBYTE = 1_048_576;
/** Per source: rows that are kept, and bytes of kept deliveries. Strangers must not displace what is authentic. */
export const KEPT = { authenticRows: 10_000, otherRows: 100, bytes: 100 * MEBIBYTE, otherBytes: 25 * MEBIBYTE };
/** Per source and write: more are dropped and counted. */
const AT_ONCE = { authenticRows: 200, otherRows: 20, otherBytes: 4 * MEBIBYTE };
const MOST_WAITING = 2000;
/** Of deliveries that wait to be kept, in this process: all of them, and those that are not authentic. */
const MOST_WAITING_BYTES = 64 * MEBIBYTE;
const MOST_OTHER_WAITING_BYTES = 16 * MEBIBYTE;
const FLUSH_EVERY_MS = 1000;
const HOUR_MS = 3_600_000;

interface WaitingRefusal {
  readonly refusedId: string;
  readonly refusal: Refusal;
  readonly kept: { readonly delivery: KeptDelivery; readonly untilMs: number; readonly bytes: number } | undefined;
}

/**
 * Writes refused deliveries once a second, off the request path. A flood costs a bounded number of rows per source and
 * second; what does not fit is dropped, and counted by `onDropped`.
 */
export function refusalWriter(options: {
  readonly sql: Pick<Database, 'transaction'>;
  readonly box: SecretBox;
  readonly newId: (prefix: string) => string;
  readonly onDropped: (what: 'row' | 'body', count: number) => void;
  readonly onFailure: (error: unknown) => void;
}) {
  const { sql, box, newId, onDropped, onFailure } = options;
  let window = new Map<string, { authenticRows: number; otherRows: number; otherBytes: number }>();
  let waitingBytes = 0;
  const settled = (batch: ReadonlyMap<string, WaitingRefusal>) => {
    for (const { kept } of batch.values()) waitingBytes -= kept?.bytes ?? 0;
  };
  const behind = writeBehind<WaitingRefusal>({
    async write(batch) {
      window = new Map();
      const all = [...batch.values()];
      await sql.transaction((transaction) => insert(transaction, box, all));
      settled(batch);
    },
    delayMs: FLUSH_EVERY_MS,
    mostWaiting: MOST_WAITING,
    onFailure(error, batch) {
      settled(batch);
      onDropped('row', batch.size);
      onFailure(error);
    },
  });
  const fits = (used: { readonly otherBytes: number }, bytes: number, isAuthentic: boolean): boolean => {
    if (isAuthentic) return waitingBytes + bytes <= MOST_WAITING_BYTES;
    return waitingBytes + bytes <= MOST_OTHER_WAITING_BYTES && used.otherBytes + bytes <= AT_ONCE.otherBytes;
  };
  return {
    /** `keep` is kept for so many hours with the row. */
    add(refusal: Refusal, keep?: { readonly delivery: KeptDelivery; readonly hours: number }): void {
      const { sourceId, isAuthentic, atMs } = refusal;
      const used = window.get(sourceId) ?? { authenticRows: 0, otherRows: 0, otherBytes: 0 };
      window.set(sourceId, used);
      const rows = isAuthentic ? 'authenticRows' : 'otherRows';
      if (used[rows] >= AT_ONCE[rows]) return onDropped('row', 1);
      used[rows] += 1;
      let kept: WaitingRefusal['kept'];
      if (keep !== undefined) {
        const bytes = packedBytes(keep.delivery);
        if (fits(used, bytes, isAuthentic)) kept = { ...keep, untilMs: atMs + keep.hours * HOUR_MS, bytes };
        else onDropped('body', 1);
      }
      const refusedId = newId('rfd_');
      if (!behind.put(refusedId, { refusedId, refusal, kept })) return onDropped('row', 1);
      if (kept === undefined) return undefined;
      waitingBytes += kept.bytes;
      used.otherBytes += isAuthentic ? 0 : kept.bytes;
      return undefined;
    },
    flush: behind.flush,
    close: behind.close,
  };
}

async function insert(sql: Sql, box: SecretBox, all: readonly WaitingRefusal[]): Promise<void> {
  await sql.query(insertRows(all));
  const sources = [...new Set(all.map(({ refusal }) => refusal.sourceId))].sort();
  for (const isAuthentic of [true, false]) await sql.query(removeBeyond(sources, isAuthentic));
  const withBodies = all.filter(({ kept }) => kept !== undefined);
  if (withBodies.length === 0) return;
  // One process at a time, in the same order, so that the bound on bytes holds.
  const keeping = sources.filter((source) => withBodies.some(({ refusal }) => refusal.sourceId === source));
  for (const source of keeping) {
    const text = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
    await sql.query({ text, values: [`ingest.kept_deliveries ${source}`] });
  }
  for (const one of withBodies) await sql.query(insertBody(box, one));
  // Of others as much stays as the authentic leave.
  for (const isAuthentic of [true, false]) await sql.query(removeBodiesBeyond(keeping, isAuthentic));
}

function insertRows(all: readonly WaitingRefusal[]): Statement {
  const column = (of: (refusal: Refusal) => unknown) => all.map(({ refusal }) => of(refusal) ?? null);
  return {
    text: `INSERT INTO ingest.refused_deliveries (refused_id, source_id, is_authentic, code, reason, header, skew_seconds,
                                                  pointer, detail, delivery_id, media_type, body_bytes, request_id,
                                                  event_id, at)
           SELECT i, s, a, c, r, h, k, p, d, n, m, b, q, e, to_timestamp(t / 1000.0)
             FROM unnest($1::text[], $2::text[], $3::boolean[], $4::text[], $5::text[], $6::text[], $7::bigint[],
                         $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[], $14::text[],
                         $15::bigint[]) u (i, s, a, c, r, h, k, p, d, n, m, b, q, e, t)
           ON CONFLICT DO NOTHING`,
    values: [
      all.map(({ refusedId }) => refusedId),
      column(({ sourceId }) => sourceId),
      column(({ isAuthentic }) => isAuthentic),
      column(({ code }) => code),
      column(({ reason }) => reason),
      column(({ header }) => header),
      column(({ skewSeconds }) => skewSeconds),
      column(({ pointer }) => pointer),
      column(({ detail }) => detail),
      column(({ deliveryId }) => deliveryId),
      column(({ mediaType }) => mediaType),
      column(({ bodyBytes }) => bodyBytes),
      column(({ requestId }) => requestId),
      column(({ eventId }) => eventId),
      column(({ atMs }) => Math.floor(atMs)),
    ],
  };
}

/** Keeps the newest rows of each source. */
function removeBeyond(sources: readonly string[], isAuthentic: boolean): Statement {
  return {
    text: `DELETE FROM ingest.refused_deliveries r
            USING (SELECT s, (SELECT refused_id FROM ingest.refused_deliveries
                               WHERE source_id = s AND is_authentic = $2 ORDER BY refused_id DESC OFFSET $3 LIMIT 1) AS last
                     FROM unnest($1::text[]) s) x
            WHERE r.source_id = x.s AND r.is_authentic = $2 AND r.refused_id <= x.last`,
    values: [sources, isAuthentic, isAuthentic ? KEPT.authenticRows : KEPT.otherRows],
  };
}

/** Keeps the newest bodies of each source. */
function removeBodiesBeyond(sources: readonly string[], isAuthentic: boolean): Statement {
  return {
    text: `DELETE FROM ingest.kept_deliveries WHERE refused_id IN (
             SELECT refused_id FROM (
               SELECT refused_id, is_authentic,
                      sum(bytes) OVER (PARTITION BY source_id ORDER BY is_authentic DESC, refused_id DESC) AS total,
                      sum(bytes) OVER (PARTITION BY source_id, is_authentic ORDER BY refused_id DESC) AS alike
                 FROM ingest.kept_deliveries WHERE source_id = ANY ($1)) k
              WHERE is_authentic = $2 AND (total > $3 OR alike > $4))`,
    values: [sources, isAuthentic, KEPT.bytes, isAuthentic ? KEPT.bytes : KEPT.otherBytes],
  };
}

function insertBody(box: SecretBox, { refusedId, refusal, kept }: WaitingRefusal): Statement {
  const { keyId, bytes } = box.sealBytes(packed(kept!.delivery), refusedId);
  return {
    // Its row may be removed already, where the source has too many.
    text: `INSERT INTO ingest.kept_deliveries (refused_id, source_id, is_authentic, secret_id, sealed, bytes, keep_until)
           SELECT refused_id, source_id, is_authentic, $2, $3, $4, to_timestamp($5 / 1000.0)
             FROM ingest.refused_deliveries WHERE refused_id = $1 AND source_id = $6`,
    values: [refusedId, keyId, bytes, bytes.length, Math.floor(kept!.untilMs), refusal.sourceId],
  };
}

/** Selects refused deliveries older than `days`. */
export function refusedBefore(days: number, nowMs: number) {
  const values = [`rfd_${positionAt(nowMs - days * 24 * HOUR_MS)}`];
  return { table: 'ingest.refused_deliveries', condition: 'refused_id < $1', orderBy: 'refused_id', values };
}
