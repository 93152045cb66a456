import { closedObject, instantText, lineOfText, named } from '@sealgate/http';
import { Type, type TSchema } from '@sinclair/typebox';

export const NetworkId = Type.String({ pattern: '^[a-z0-9][a-z0-9-]{1,62}$' });
export const ChannelName = Type.String({ pattern: '^[a-z0-9-]{1,40}$' });
export const Name = lineOfText({ min: 1, max: 200 });
export const AssetType = lineOfText({ min: 1, max: 128 });
export const Time = instantText();
export const Text = Type.String();
/** An id in a path or a filter: one that no id can be is a row that is not there, or a fault. */
export const IdText = lineOfText({ min: 1, max: 1024 });
export const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const LimitsBody = named(
  'Limits',
  closedObject({
    ratePerSecond: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Records each second.' }),
    burst: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Records at once.' }),
  }),
);
