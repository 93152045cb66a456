import { tableList, type ListCondition } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import { CONFLICT } from './deliveries-store.ts';
import {
  givenOf,
  listedRefusal,
  positionAt,
  refusalConditions,
  type RefusalFilter,
  type RefusedRow,
} from './refused-store.ts';
import type { RefusalOfSource } from '../domain/refusals.ts';

interface EverywhereFilter extends RefusalFilter {
  readonly networkId?: string | undefined;
  readonly sourceId?: string | undefined;
}

/** Refusals of a source with the same code and reason. */
interface RefusalGroup {
  readonly sourceId: string;
  readonly networkId: string;
  readonly sourceName: string;
  readonly code: string;
  readonly reason: string | null;
  readonly deliveries: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
  readonly lastSkewSeconds: number | null;
  /** The newest of them that is listed; null where none is. */
  readonly exampleId: string | null;
}

interface RowOfSource extends RefusedRow {
  network_id: string;
  source_name: string;
}

/** An id is made some milliseconds after the time that its row shows. */
const ID_LATER_MS = 60_000;
/** The newest counts of the period that are looked at, and the groups that are shown. */
const MOST_COUNTS = 50_000;
const MOST_GROUPS = 200;

export type RefusedEverywhere = ReturnType<typeof refusedEverywhere>;

/** Refused deliveries of all sources. */
export function refusedEverywhere({ look, now }: { readonly look: Sql; readonly now: () => number }) {
  const read = ({ network_id: networkId, source_name: sourceName, ...row }: RowOfSource) => ({
    ...listedRefusal(row, now()),
    networkId,
    sourceName,
  });
  return {
    list: tableList(look, {
      from: `ingest.refused_deliveries l JOIN ingest.sources s ON s.source_id = l.source_id
        LEFT JOIN ingest.kept_deliveries k ON k.refused_id = l.refused_id`,
      columns: 'l.*, s.network_id, s.name AS source_name, k.keep_until',
      id: 'l.refused_id',
      orders: { at: { by: 'l.refused_id', type: 'text' } },
      whereOf: (filter: EverywhereFilter) => ({ conditions: conditionsOf(filter) }),
      read,
    }),
    /** Of a period, the largest first. Times are those of the minutes in which deliveries were counted. */
    async groups(filter: EverywhereFilter & { readonly from: Date; readonly to: Date }): Promise<RefusalGroup[]> {
      const of = sourcesOf(filter);
      const whose = of.map(([condition], at) => ` AND c.${condition.replace('$', `$${at + 3}`)}`).join('');
      return look.query<RefusalGroup>({
        text: `SELECT g.*, s.network_id AS "networkId", s.name AS "sourceName",
                      (SELECT r.refused_id FROM ingest.refused_deliveries r
                        WHERE r.source_id = g."sourceId" AND r.reason = g.reason
                        ORDER BY r.refused_id DESC LIMIT 1) AS "exampleId"
                 FROM (SELECT source_id AS "sourceId", code, reason, sum(deliveries)::float8 AS deliveries,
                              min(last_at) AS "firstAt", max(last_at) AS "lastAt",
                              (array_agg(skew_seconds::float8 ORDER BY last_at DESC))[1] AS "lastSkewSeconds"
                         FROM (SELECT c.* FROM ingest.delivery_counts c
                                WHERE c.position >= $1 AND c.position < $2 AND c.outcome IN ('refused', '${CONFLICT}')${whose}
                                ORDER BY c.position DESC LIMIT ${MOST_COUNTS}) c
                        GROUP BY source_id, code, reason
                        ORDER BY sum(deliveries) DESC, source_id, code, reason LIMIT ${MOST_GROUPS}) g
                 JOIN ingest.sources s ON s.source_id = g."sourceId"
                ORDER BY g.deliveries DESC, g."sourceId", g.code, g.reason`,
        values: [
          positionAt(filter.from.getTime()),
          positionAt(filter.to.getTime() + ID_LATER_MS),
          ...of.map(([, value]) => value),
        ],
      });
    },
    /** The newest from a moment on, newest first. */
    async recent(from: Date, limit: number): Promise<RefusalOfSource[]> {
      const rows = await look.query<RowOfSource>({
        text: `SELECT l.*, s.network_id, s.name AS source_name, k.keep_until
                 FROM ingest.refused_deliveries l JOIN ingest.sources s ON s.source_id = l.source_id
                 LEFT JOIN ingest.kept_deliveries k ON k.refused_id = l.refused_id
                WHERE l.refused_id >= $1 ORDER BY l.refused_id DESC LIMIT $2`,
        values: [`rfd_${positionAt(from.getTime())}`, limit],
      });
      return rows.map(read);
    },
  };
}

function sourcesOf({ networkId, sourceId }: Pick<EverywhereFilter, 'networkId' | 'sourceId'>): ListCondition[] {
  const given: ListCondition[] = [
    ['source_id = $', sourceId],
    ['source_id IN (SELECT source_id FROM ingest.sources WHERE network_id = $)', networkId],
  ];
  return givenOf(given);
}

function conditionsOf({ networkId, sourceId, ...filter }: EverywhereFilter): ListCondition[] {
  const { from, to } = filter;
  return givenOf([
    ...sourcesOf({ networkId, sourceId }).map(([condition, value]): ListCondition => [`l.${condition}`, value]),
    ...refusalConditions(filter),
    // The times by the primary key.
    ['l.refused_id >= $', from && `rfd_${positionAt(from.getTime())}`],
    ['l.refused_id < $', to && `rfd_${positionAt(to.getTime() + ID_LATER_MS)}`],
  ]);
}
