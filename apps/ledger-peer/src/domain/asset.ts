import type { JsonValue } from '@sealgate/json';
import { closedObject, lineOfText, named, orNull, ProvedOnFabric } from '@sealgate/schemas';
import { Type, type SchemaOptions, type Static } from '@sinclair/typebox';

export const MAX_ASSETS = 1000;
const DEFAULT_BATCH_SIZE = 100;
export const DEFAULT_LIMIT = 100;

/** JSON that is passed on unchanged. */
export const AnyJson = (options: SchemaOptions & { readonly type?: string }) => Type.Unsafe<JsonValue>(options);

/** Control characters, in a class of a pattern. */
const CONTROLS = '\\x00-\\x1f\\x7f';
/** A lookahead would be shorter, but RE2 has none. */
export const AssetId = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: `^(?:[^.${CONTROLS}]|\\.(?:[^.${CONTROLS}]|\\.[^${CONTROLS}]))[^${CONTROLS}]*$`,
  description: 'Not `.` or `..`, which cannot be a path segment.',
});
export const AssetType = lineOfText({ min: 1, max: 128 });

/** An asset, as its sender writes it. */
const Asset = named(
  'Asset',
  closedObject({ id: AssetId, type: AssetType, data: AnyJson({ type: 'object', additionalProperties: true }) }),
);
export type Asset = Readonly<Static<typeof Asset>>;

/** The body of a write, which is also that of its job. */
export const NewAssets = closedObject({
  assets: Type.Array(Asset, { minItems: 1, maxItems: MAX_ASSETS }),
  options: Type.Optional(
    closedObject({
      batchSize: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 500, default: DEFAULT_BATCH_SIZE, description: 'Assets per batch.' }),
      ),
      continueOnError: Type.Optional(
        Type.Boolean({ default: false, description: 'Whether batches after one with a failed asset are sent.' }),
      ),
    }),
  ),
});
export type NewAssets = Readonly<Static<typeof NewAssets>>;

/** What is to be written, as jobs keep it: assets, or an action on one. */
export type WriteOrder = Pick<NewAssets, 'options'> & { readonly assets: OrderedAsset[] };

/** `action` is one of the mapping of its type; absent: the asset is written. */
export type OrderedAsset = Asset & { readonly action?: string };

/** The options of a write, with their defaults. */
export function writeOptions({
  options: { batchSize = DEFAULT_BATCH_SIZE, continueOnError = false } = {},
}: WriteOrder) {
  return { batchSize, continueOnError };
}

/** The body of a query. */
export const AssetQuery = closedObject({
  type: AssetType,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: DEFAULT_LIMIT })),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      pattern: '^[A-Za-z0-9_-]+$',
      description: 'nextCursor of the previous page.',
    }),
  ),
  filter: Type.Optional(
    Type.Unsafe<Readonly<Record<string, string>>>({
      type: 'object',
      additionalProperties: { type: 'string', maxLength: 4096 },
      description: 'Texts by the names that the mapping of the type lists as `filters`.',
    }),
  ),
});
export type AssetQuery = Readonly<Static<typeof AssetQuery>>;

/** An asset, as its contract returns it. */
export const ReadAsset = AnyJson({ description: 'Output of the read query of the contract.' });

export const AssetHistory = named(
  'AssetHistory',
  Type.Object({
    id: Type.String(),
    history: Type.Array(AnyJson({ description: 'A change, as the contract returned it.' })),
  }),
);

export const AssetPage = named(
  'AssetPage',
  Type.Object({
    assets: Type.Array(ReadAsset),
    count: Type.Integer({ description: 'Number of assets in this page.' }),
    nextCursor: orNull(Type.String(), { description: 'null exactly on the last page.' }),
  }),
);
export type AssetPage = Static<typeof AssetPage>;

export const FabricProvedAsset = named(
  'FabricProvedAsset',
  Type.Object(
    { asset: ReadAsset, ...ProvedOnFabric.properties },
    { description: 'With `proof=true` or `proof=block`, on Fabric.' },
  ),
);
