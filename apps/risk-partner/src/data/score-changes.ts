import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import type { FormerRating } from '../domain/resource.ts';
import type { ScoreChange } from '../domain/summaries.ts';
import { prepared, rowCondition } from './row-condition.ts';

/** The change that ended the rating which a risk `r` had at a time. */
const ended = (columns: string, since: string) => `
  SELECT ${columns} FROM risk.score_changes c
   WHERE c.org_id = r.org_id AND c.risk_id = r.id AND c.at >= ${since} ORDER BY c.at, c.version LIMIT 1`;

const sinceIn = (since: Date, values: unknown[]): string => `$${values.push(since)}::timestamptz`;

/** The condition for risks that were there at a time, and had a lower score than now then or later. */
export function mayBeWorse(since: Date, values: unknown[]): string {
  const at = sinceIn(since, values);
  return `r.lower_until >= ${at} AND r.created_at < ${at}`;
}

/** The condition for risks whose current score is higher than it was at a time. */
export const gotWorse = (since: Date, values: unknown[]): string =>
  `${mayBeWorse(since, values)}
   AND r.score > (${ended('c.was_likelihood * c.was_impact', sinceIn(since, values))})`;

/** What risks `r` were rated at a time, as columns `p.was_likelihood`, `p.was_impact` and `p.at`. */
export const joinedPrevious = (since: Date, values: unknown[]): string =>
  `LEFT JOIN LATERAL (${ended('c.was_likelihood, c.was_impact, c.at', sinceIn(since, values))}) p ON true`;

export interface PreviousColumns {
  readonly was_likelihood: number | null;
  readonly was_impact: number | null;
  readonly at: Date | null;
}

export const previousOf = ({ was_likelihood, was_impact, at }: PreviousColumns): { previous?: FormerRating } =>
  was_likelihood === null || was_impact === null || at === null
    ? {}
    : { previous: { likelihood: was_likelihood, impact: was_impact, until: at.toISOString() } };

interface ChangeRow extends PreviousColumns {
  readonly version: number | null;
  readonly likelihood: number;
  readonly impact: number;
}

/** The changes of the current rating of a risk that are kept, newest first; undefined if the caller may not see it. */
export async function scoreChanges(sql: Sql, scope: RowScope, id: string): Promise<ScoreChange[] | undefined> {
  const values: unknown[] = [id];
  const text = `
    SELECT c.at, c.version, c.was_likelihood, c.was_impact, c.likelihood, c.impact
      FROM risk.resources r LEFT JOIN risk.score_changes c ON c.org_id = r.org_id AND c.risk_id = r.id
     WHERE r.kind = 'risk' AND r.id = $1 AND ${rowCondition('r', scope, values)} ORDER BY c.at DESC, c.version DESC`;
  const rows = await sql.query<ChangeRow>(prepared(text, values));
  if (rows.length === 0) return undefined;
  return rows.flatMap(({ version, likelihood, impact, ...row }) => {
    const { previous } = previousOf(row);
    if (version === null || previous === undefined) return [];
    const { until: at, ...from } = previous;
    return [{ at, version, from, to: { likelihood, impact } }];
  });
}
