/**
 * Rows in shards, within each of which an index has them in the order of a list: the first of the list are among the first
 * of each shard. There may be some thousands of shards, each of which costs a look into the index.
 */
export interface ListShards {
  /** SELECT of the shards that may have rows of the conditions; `place` takes a value and answers its parameter. */
  readonly select: (place: (value: unknown) => string) => string;
  /** Whether a row `l` is in a shard `s`, in the form of the index. */
  readonly isOfShard: string;
}

/** The statement of a page that is cut from the first rows of each shard. The index tells them; only the page is read whole. */
export function shardedPage(list: {
  readonly from: string;
  readonly columns: string;
  readonly id: string;
  readonly by: string;
  readonly where: string;
  readonly limit: string;
  readonly shards: string;
  readonly isOfShard: string;
  readonly ordered: (value: string, id: string) => string;
}): string {
  const { from, columns, id, by, where, limit, shards, isOfShard, ordered } = list;
  return `SELECT p.* FROM (
      SELECT f.value, f.id FROM (${shards}) s CROSS JOIN LATERAL (
        SELECT ${by} AS value, ${id} AS id FROM ${from}${where} AND ${isOfShard} ${ordered(by, id)} LIMIT ${limit}) f
       ${ordered('f.value', 'f.id')} LIMIT ${limit}) found
    CROSS JOIN LATERAL (SELECT ${columns} FROM ${from} WHERE ${id} = found.id) p ${ordered('found.value', 'found.id')}`;
}
