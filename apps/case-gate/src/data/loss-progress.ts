import type { Sql } from '@sealgate/storage';

/** Both key columns of the last reviewed row; empty before the first. */
type ReviewPlace = readonly string[];

interface ReviewedPage {
  readonly place: ReviewPlace;
  /** Number of rows that were changed. */
  readonly changed: number;
  readonly isLast: boolean;
}

/**
 * The progress of the review of a declared loss, in the table `loss_reviews`. A process leases a part for half a minute
 * from the last page that it reviewed; reviewing a page twice is harmless. Fails and ends as statements of `sql` do.
 */
export interface LossProgress {
  /** Leases a part and returns where to continue; undefined where it is done or leased by another process. */
  claim(epoch: number, part: string): Promise<ReviewPlace | undefined>;
  /** Saves a reviewed page. Returns where to continue; undefined at the end, or where another process took over. */
  keep(epoch: number, part: string, page: ReviewedPage): Promise<ReviewPlace | undefined>;
  /**
   * Marks a loss as reviewed once all parts are done, and returns the number of changed rows by part. Undefined before
   * that, and where another process did so.
   */
  finish(epoch: number, parts: readonly string[], at: Date): Promise<ReadonlyMap<string, number> | undefined>;
}

const LEASE = `clock_timestamp() + interval '30 seconds'`;

const CLAIM = `INSERT INTO gate.loss_reviews AS r (epoch, part, place, worker, leased_until)
  SELECT $1::integer, $2::text, '{"",""}'::text[], $3::text, ${LEASE} WHERE NOT EXISTS (SELECT 1 FROM gate.reviewed_losses WHERE epoch = $1)
  ON CONFLICT (epoch, part) DO UPDATE SET worker = EXCLUDED.worker, leased_until = EXCLUDED.leased_until
    WHERE NOT r.is_done AND (r.worker = EXCLUDED.worker OR r.leased_until < clock_timestamp())
  RETURNING place`;

const KEEP = `UPDATE gate.loss_reviews
  SET place = $4, changed_rows = changed_rows + $5, is_done = $6, leased_until = ${LEASE}
  WHERE epoch = $1 AND part = $2 AND worker = $3 AND NOT is_done RETURNING place`;

const FINISH = `WITH done AS (
    INSERT INTO gate.reviewed_losses (epoch, reviewed_at)
      SELECT $1::integer, $3::timestamptz WHERE (SELECT count(*) FROM gate.loss_reviews WHERE epoch = $1 AND is_done AND part = ANY ($2::text[])) = cardinality($2::text[])
      ON CONFLICT DO NOTHING RETURNING epoch),
  gone AS (DELETE FROM gate.loss_reviews WHERE epoch <= (SELECT epoch FROM done) RETURNING epoch, part, changed_rows)
  SELECT g.part, g.changed_rows FROM gone g WHERE g.epoch = $1`;

/** `worker`: unique to this process. */
export function lossProgress(sql: Sql, worker: string): LossProgress {
  return {
    async claim(epoch, part) {
      const [row] = await sql.query<{ place: string[] }>({ text: CLAIM, values: [epoch, part, worker] });
      return row?.place;
    },
    async keep(epoch, part, { place, changed, isLast }) {
      const values = [epoch, part, worker, place, changed, isLast];
      const [row] = await sql.query<{ place: string[] }>({ text: KEEP, values });
      return isLast ? undefined : row?.place;
    },
    async finish(epoch, parts, at) {
      const rows = await sql.query<{ part: string; changed_rows: number }>({
        text: FINISH,
        values: [epoch, parts, at],
      });
      return rows.length === 0 ? undefined : new Map(rows.map(({ part, changed_rows: changed }) => [part, changed]));
    },
  };
}
