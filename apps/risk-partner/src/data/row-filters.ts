import { instantOf } from '@sealgate/json';

/** The facet name of a filter, if it differs from the filter's name. */
const FACET_OF: Readonly<Record<string, string>> = { controlId: 'link' };

/** The facets that rows must have for these filters. */
export function wantedFacets({
  updatedSince: _since,
  state,
  ownerId: _owner,
  ...facets
}: Readonly<Record<string, string>>): string[] {
  const wanted = Object.entries(facets).map(([name, value]) => `${FACET_OF[name] ?? name}:${value}`);
  if (state !== undefined) wanted.push(`state:${isPeriod(state) ? 'approved' : state}`);
  return wanted;
}

/** The conditions of filters; appends their parameters to `values`. */
export function filterConditions(
  filters: Readonly<Record<string, string>>,
  values: unknown[],
  nowMs: number,
): string[] {
  const { updatedSince, state, ownerId } = filters;
  const conditions: string[] = [];
  if (updatedSince !== undefined)
    conditions.push(`r.updated_at >= $${values.push(instantOf(updatedSince))}::timestamptz`);
  if (state !== undefined && isPeriod(state))
    conditions.push(VALIDITY[state](`$${values.push(new Date(nowMs))}::timestamptz`));
  if (ownerId !== undefined) conditions.push(`r.owner_id = $${values.push(ownerId)}::text`);
  const wanted = wantedFacets(filters);
  if (wanted.length > 0) conditions.push(`r.facets @> $${values.push(wanted)}::text[]`);
  return conditions;
}

/**
 * Approved, expiring and expired are one stored state at different times. In hours, as an interval of days would depend
 * on the session's time zone.
 */
export const VALIDITY = {
  approved: (now: string) => `(r.valid_until IS NULL OR r.valid_until > ${now} + interval '720 hours')`,
  expiring: (now: string) => `r.valid_until <= ${now} + interval '720 hours' AND r.valid_until > ${now}`,
  expired: (now: string) => `r.valid_until <= ${now}`,
};

const isPeriod = (state: string): state is keyof typeof VALIDITY => Object.hasOwn(VALIDITY, state);
