import {
  closedObject,
  double,
  enumOf,
  instantText,
  isNullable,
  lineOfText,
  named,
  namedAfter,
  openObject,
  orNull,
} from '@sealgate/schemas';
import { type TObject, type TOptional, type TProperties, type TSchema, type TString, Type } from '@sinclair/typebox';

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

/** The `q` parameter of a list that can be searched. */
export const searchParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'Words, each a part of an id, reference, name, title or label; case and accents do not matter.',
  }),
);

/**
 * The `sort` parameter of a list: `values` are the fields, each also with `-` before it; one is that of a list without
 * it. A name tells client generators what to call them.
 */
export const sortParameter = <const Value extends string>(
  values: readonly Value[],
  { name, byDefault }: { readonly name?: string; readonly byDefault?: NoInfer<Value> } = {},
) => {
  const order = Type.Unsafe<Value>({
    type: 'string',
    enum: values,
    ...(byDefault === undefined ? {} : { default: byDefault }),
    description:
      'The order of the list; `-` before a field turns it round. Rows that are equal are in the order of their ids, turned round too.',
  });
  return Type.Optional(name === undefined ? order : named(name, order));
};

/** The `format` parameter of an export. */
export const formatParameter = <const Format extends string>(formats: readonly Format[]) =>
  named(
    'ExportFormat',
    Type.Unsafe<Format>({ type: 'string', enum: formats, description: 'CSV (RFC 4180) or JSON Lines.' }),
  );

/** How many rows a list has. */
export const totalSchema = named(
  'Total',
  Type.Union([Type.Integer({ minimum: 0, maximum: 10_000 }), Type.Literal('10000+')], {
    description: 'Rows that pass the filters, exact up to 10,000.',
  }),
);

/** The response of an admin list, named after its items with the suffix `List`. */
export function listOf<Item extends TSchema, const More extends TProperties = Record<never, never>>(
  item: Item,
  more: More = {} as More,
) {
  const list = Type.Object({ items: Type.Array(item), nextCursor: orNull(Type.String()), ...more });
  return namedAfter(item, 'List', list);
}

/** The columns of an export of rows with this schema: `current.score` for a member of a member. */
export function columnsOf({ properties }: TObject, within = ''): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const object = objectIn(schema);
    return object === undefined ? [`${within}${name}`] : columnsOf(object, `${within}${name}.`);
  });
}

function objectIn(schema: TSchema): TObject | undefined {
  const inner = isNullable(schema) ? ((schema['anyOf'] as TSchema[])[0] as TSchema) : schema;
  return inner['type'] === 'object' && inner['properties'] !== undefined ? (inner as TObject) : undefined;
}

/** The public keys that a surface signs with (RFC 7517). */
export const JwkSet = named('JwkSet', Type.Object({ keys: Type.Array(openObject()) }, { description: 'RFC 7517.' }));
