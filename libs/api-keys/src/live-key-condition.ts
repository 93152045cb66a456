/**
 * The SQL condition under which a row of `api_keys` is a live key: not revoked, not expired, not past its overlap.
 * `alias` is what the statement calls the table, `nowParameter` the parameter (`$2`, say) that holds the moment.
 * Revocation does not depend on the moment: it holds at once, also for a replica whose clock is behind.
 */
export function liveKeyCondition(alias: string, nowParameter: string): string {
  const ahead = (column: string): string =>
    `(${alias}.${column} IS NULL OR ${alias}.${column} > ${nowParameter}::timestamptz)`;
  return `(${alias}.revoked_at IS NULL AND ${ahead('expires_at')} AND ${ahead('overlap_until')})`;
}
