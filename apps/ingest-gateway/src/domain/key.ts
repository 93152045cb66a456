import { enumOf } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { AssetType, Limits } from '../schemas.ts';

/** What an ingest key may do. */
export const KeyGrants = Type.Object({
  permissions: Type.Optional(
    Type.Array(enumOf('Permission', ['ingest:ping', 'ingest:write']), {
      uniqueItems: true,
      description: 'What it may do. Absent: everything. Empty: nothing.',
    }),
  ),
  allowedAssetTypes: Type.Optional(
    Type.Array(AssetType, {
      maxItems: 200,
      uniqueItems: true,
      description: 'Types that it may write. Absent: all. Empty: none.',
    }),
  ),
  record: enumOf('RecordForm', ['envelope', 'whole'], {
    description:
      'How a body is read; default envelope. whole: a top-level object that is neither a ping nor a batch is stored as it ' +
      'is, whatever its members are.',
  }),
  defaultType: Type.Optional({ ...AssetType, description: 'The type of records without a type.' }),
  limits: Type.Optional(Limits),
});
export type KeyGrants = Readonly<Static<typeof KeyGrants>>;
