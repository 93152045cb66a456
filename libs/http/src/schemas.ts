import {
  closedObject,
  double,
  enumOf,
  instantText,
  lineOfText,
  named,
  namedAfter,
  openObject,
  orNull,
} from '@sealgate/schemas';
import { type TOptional, type TProperties, type TSchema, type TString, Type } from '@sinclair/typebox';

// Routes import what their schemas are built of from here.
export { closedObject, double, enumOf, instantText, lineOfText, named, namedAfter, openObject, orNull };
export { type JsonObject, membersJson, nameOf, type NamedSchema, schemaJson } from '@sealgate/schemas';

/** The bounds of `limit`, for `parseLimit`. */
export interface LimitRange {
  readonly default: number;
  readonly max: number;
}

/** Extension keyword with the range of a decimal query value, for ajv and OpenAPI. */
export const DECIMAL_KEYWORD = 'x-integer';

export interface DecimalRange {
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
}

const DECIMAL = /^[1-9][0-9]{0,3}$/;

/** Whether a query value is an integer in the range, without sign or leading zero. */
export function isDecimalIn(range: DecimalRange, text: string): boolean {
  return DECIMAL.test(text) && Number(text) >= range.minimum && Number(text) <= range.maximum;
}

/**
 * The `limit` parameter of a list. It stays a string, like every query value; `parseLimit` parses it. An invalid one is
 * INVALID_LIMIT.
 */
export function limitParameter(range: LimitRange): TOptional<TString> {
  const decimal: DecimalRange = { minimum: 1, maximum: range.max, default: range.default };
  return Type.Optional(Type.String({ description: 'Maximum number of items in a page.', [DECIMAL_KEYWORD]: decimal }));
}

/** The `cursor` parameter of a list. An invalid one is INVALID_CURSOR. */
function cursorParameter(): TOptional<TString> {
  return Type.Optional(
    Type.String({
      description: 'Start of the page: nextCursor of the previous page.',
      pattern: '^[A-Za-z0-9_-]{1,512}$',
    }),
  );
}

/** The query of a list: `limit`, `cursor`, and filters. */
export function listQuery<const Filters extends TProperties>(range: LimitRange, filters: Filters) {
  return Type.Object(
    { limit: limitParameter(range), cursor: cursorParameter(), ...filters },
    { additionalProperties: false },
  );
}

/** The response of an admin list, named after its items with the suffix `List`. */
export function listOf<Item extends TSchema>(item: Item) {
  const list = Type.Object({ items: Type.Array(item), nextCursor: orNull(Type.String()) });
  return namedAfter(item, 'List', list);
}

/** The public keys that a surface signs with (RFC 7517). */
export const JwkSet = named('JwkSet', Type.Object({ keys: Type.Array(openObject()) }, { description: 'RFC 7517.' }));
