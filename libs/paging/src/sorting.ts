import { foldText } from './search.ts';

/** An order of a list. Rows that are equal in the field are in the order of their ids, in the same direction. */
export interface Sorting<Field extends string = string> {
  readonly field: Field;
  readonly descending: boolean;
}

/** Reads `sort` of a list: a field, or `-` and a field for the opposite order. The schema of the query has validated it. */
export const sortingOf = <Field extends string>(sort: Field | `-${Field}`): Sorting<Field> =>
  sort.startsWith('-')
    ? { field: sort.slice(1) as Field, descending: true }
    : { field: sort as Field, descending: false };

/** Every value of `sort` for these fields. */
export const sortValues = <const Field extends string>(fields: readonly Field[]): (Field | `-${Field}`)[] =>
  fields.flatMap((field) => [field, `-${field}` as const]);

/** A cursor holds it, so it is short: so many bytes as JSON in UTF-8. */
const SORT_TEXT_MAX_BYTES = 160;

/** What a list of people's texts is sorted by, in code points: the beginning of the folded text. */
export function sortText(text: string): string {
  let kept = '';
  let bytes = 0;
  for (const character of foldText(text)) {
    bytes += Buffer.byteLength(JSON.stringify(character)) - 2;
    if (bytes > SORT_TEXT_MAX_BYTES) break;
    kept += character;
  }
  return kept;
}
