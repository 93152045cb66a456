import { closedObject, instantText, lineOfText, named, orNull } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';

export const NetworkId = Type.String({ pattern: '^[a-z0-9][a-z0-9-]{1,62}$' });
export const ChannelName = Type.String({ pattern: '^[a-z0-9-]{1,40}$' });
export const Name = lineOfText({ min: 1, max: 200 });
export const AssetType = lineOfText({ min: 1, max: 128 });
export const Time = instantText();
export const Text = Type.String();
/** An id in a path or a filter. A text that cannot be an id finds no row, or is a 400 where it exceeds this schema. */
export const IdText = lineOfText({ min: 1, max: 1024 });
export const OrNull = orNull;

/** The rate limits of one bucket. */
export const Limits = named(
  'Limits',
  closedObject({
    ratePerSecond: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Records per second.' }),
    burst: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Bucket size: records accepted at once.' }),
  }),
);
export type Limits = Readonly<Static<typeof Limits>>;

/** The identity and place of a written record. */
export const RecordReceipt = named(
  'RecordReceipt',
  Type.Object({
    id: Type.String(),
    transactionId: Type.String(),
    channel: Type.String({ description: 'The full name, `<networkId>.<name>`.' }),
    index: Type.Optional(Type.Integer({ minimum: 0, description: 'The index in its log. Absent on Fabric.' })),
    epoch: Type.Optional(
      Type.Integer({ minimum: 1, description: 'The epoch of the log: present once the channel has declared a loss.' }),
    ),
    leafHash: Type.Optional(
      Type.String({ pattern: '^[0-9a-f]{64}$', description: 'RFC 6962 leaf hash. Absent on Fabric.' }),
    ),
    existing: Type.Optional(Type.Literal(true, { description: 'The record existed before, with this content.' })),
  }),
);
