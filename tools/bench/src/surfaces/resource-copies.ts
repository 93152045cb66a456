/** The number in the texts of a row that is copied; each copy has its own in its place. */
export const FIRST_NUMBER = '0000000';
/** Number of rows with the same time: they are ordered by id. */
const sharingAMoment = 3;

/** SQL of a time as answers and documents have it. */
export const timeText = (at: string): string => `to_char((${at}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * Copies of a row of surface A as `fillTable` makes them: with ids, texts and times of their own, all before it. `place`
 * is a number in SQL that no other copy of its organisation and kind has.
 */
export function resourceCopies({
  first,
  prefix,
  count,
  place = 'g',
}: {
  readonly first: { readonly id: string; readonly createdAt: string };
  /** Of ids, such as `ast_`. */
  readonly prefix: string;
  readonly count: number;
  readonly place?: string;
}) {
  const number = `lpad((${place})::text, 7, '0')`;
  const id = `'${prefix}' || lpad(to_hex(${place}), 32, '0')`;
  const at = `t.created_at - make_interval(secs => 1 + (${count + 1} - g) / ${sharingAMoment})`;
  const moment = timeText(at);
  const numbered = (column: string): string => `replace(t.${column}, '${FIRST_NUMBER}', ${number})`;
  const text = (column: string): string =>
    `replace(replace(${numbered(column)}, '${first.id}', ${id}), '${first.createdAt}', ${moment})`;
  return {
    count,
    from: `id = '${first.id}'`,
    set: {
      ...{ id, created_at: at, updated_at: at, folded: text('folded') },
      ...{ title: numbered('title'), ref_id: numbered('ref_id'), doc: text('doc'), item: text('item') },
    },
  };
}
