import { Type, type TObject, type TOptional, type TProperties, type TSchema, type TString } from '@sinclair/typebox';
import { namedAfter } from './named-schema.ts';

/** The bounds of `limit`, as `parseLimit` takes them. */
export interface LimitRange {
  readonly default: number;
  readonly max: number;
}

/** The extension keyword by which a decimal in a query says its range, to ajv and to OpenAPI alike. */
export const DECIMAL_KEYWORD = 'x-integer';

export interface DecimalRange {
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
}

const DECIMAL = /^[1-9][0-9]{0,3}$/;

/** Whether a query value is a whole number of the range, written without sign or leading zero. */
export function isDecimalIn(range: DecimalRange, text: string): boolean {
  return DECIMAL.test(text) && Number(text) >= range.minimum && Number(text) <= range.maximum;
}

/** `limit` of a list. It stays a string, like every query value: `parseLimit` reads it. A bad one is INVALID_LIMIT. */
export function limitParameter(range: LimitRange): TOptional<TString> {
  const decimal: DecimalRange = { minimum: 1, maximum: range.max, default: range.default };
  return Type.Optional(Type.String({ description: 'How many items a page may hold.', [DECIMAL_KEYWORD]: decimal }));
}

/** `cursor` of a list. Anything that could not be one of ours is INVALID_CURSOR. */
function cursorParameter(): TOptional<TString> {
  return Type.Optional(
    Type.String({
      description: 'Where the page begins: nextCursor of the page before it.',
      pattern: '^[A-Za-z0-9_-]{1,512}$',
    }),
  );
}

/** The query of a list: `limit`, `cursor`, and the filters. */
export function listQuery<const Filters extends TProperties>(range: LimitRange, filters: Filters) {
  return Type.Object(
    { limit: limitParameter(range), cursor: cursorParameter(), ...filters },
    { additionalProperties: false },
  );
}

/** The answer of an admin list; its name is that of its items, with `List` behind it. */
export function listOf<Item extends TSchema>(item: Item) {
  const list = Type.Object({ items: Type.Array(item), nextCursor: Type.Union([Type.String(), Type.Null()]) });
  return namedAfter(item, 'List', list);
}

/** One line of text: an id, a label, a name. Lengths count code points; control characters are refused. */
export function lineOfText(length: { readonly min: number; readonly max: number }): TString {
  return Type.String({ minLength: length.min, maxLength: length.max, pattern: '^[^\\u0000-\\u001f\\u007f]*$' });
}

/** A moment in RFC 3339, with `Z` or an offset and at most three fraction digits. */
export function instantText(): TString {
  return Type.String({ format: 'date-time' });
}

/** An object that knows its members: every other one is a fault. */
export function closedObject<const Members extends TProperties>(members: Members): TObject<Members> {
  return Type.Object(members, { additionalProperties: false });
}
