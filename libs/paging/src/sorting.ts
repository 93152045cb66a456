/** An order of a list. Rows that are equal in the field are in the order of their ids. */
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
