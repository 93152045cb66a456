import { named } from '@sealgate/http';
import { Type } from '@sinclair/typebox';

/** Where a record lies. */
export const RecordReceipt = named(
  'RecordReceipt',
  Type.Object({
    id: Type.String(),
    transactionId: Type.String(),
    channel: Type.String({ description: 'The full name, `<networkId>.<name>`.' }),
    index: Type.Optional(Type.Integer({ minimum: 0, description: 'The place in its log. Absent on Fabric.' })),
    epoch: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Of which log: present once the channel has declared a loss.' }),
    ),
    leafHash: Type.Optional(
      Type.String({ pattern: '^[0-9a-f]{64}$', description: 'RFC 6962 leaf hash. Absent on Fabric.' }),
    ),
    existing: Type.Optional(Type.Literal(true, { description: 'The record was there before, with this content.' })),
  }),
);
