import { instantOf } from '@sealgate/json';
import type { KindName, SortField } from '../domain/resource.ts';
import { gotWorse } from './score-changes.ts';

/** The facet name of a filter, if it differs from the filter's name. */
const FACET_OF: Readonly<Record<string, string>> = { controlId: 'link' };

/** The facets that rows must have for these filters. */
export function wantedFacets({
  updatedSince: _since,
  worseSince: _worse,
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
  const { updatedSince, worseSince, state, ownerId } = filters;
  const conditions: string[] = [];
  if (updatedSince !== undefined)
    conditions.push(`r.updated_at >= $${values.push(instantOf(updatedSince))}::timestamptz`);
  if (worseSince !== undefined) conditions.push(gotWorse(instantOf(worseSince), values));
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

const SCORES: Readonly<Record<string, readonly [number, number]>> = {
  low: [1, 4],
  medium: [5, 9],
  high: [10, 16],
  critical: [17, 25],
};

/** Conditions of filters that decide the value of the field, or have it in an index of their own. */
export function settled(
  { kind, filters }: { readonly kind: KindName; readonly filters: Readonly<Record<string, string>> },
  field: SortField,
  values: unknown[],
): string[] {
  const { state, status, level } = filters;
  if (field === 'validUntil' && kind === 'evidence' && state !== undefined)
    return [`r.facets[1] = $${values.push(wantedFacets({ state })[0])}::text`];
  if (field !== 'currentScore') return [];
  const [from, to] = SCORES[level ?? ''] ?? [];
  return [
    ...(status === undefined ? [] : [`r.facets[1] = $${values.push(wantedFacets({ status })[0])}::text`]),
    ...(from === undefined ? [] : [`r.value BETWEEN ${from} AND ${to}`]),
  ];
}
