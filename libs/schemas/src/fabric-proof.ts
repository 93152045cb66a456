import type {
  AttestedCall,
  FabricProof as PeersProof,
  FabricReceipt as ContractReceipt,
  ProvedOnFabric as PeersProvedRecord,
} from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import { named, orNull, type MembersOf } from './schemas.ts';

const Text = Type.String();
const Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Base64 = (message: string) => Type.String({ description: `A serialized ${message}, in base64.` });

export const FabricReceipt = named(
  'FabricReceipt',
  Type.Object({
    network: Text,
    channel: Text,
    id: Text,
    type: Text,
    owner: orNull(Text),
    extra: Type.Unsafe<JsonValue>(Type.Unknown()),
    version: Type.Integer(),
    contentHash: Type.String({ description: 'SHA-256 over JCS({type, owner, data, extra}), as of the contract.' }),
    transactionId: Hex,
    at: Type.String({ description: "The submitter's time of the transaction." }),
  } satisfies MembersOf<ContractReceipt>),
);

const AttestedResponse = named(
  'AttestedResponse',
  Type.Object({
    mspId: Text,
    payload: Base64('ProposalResponsePayload'),
    endorsement: Base64('Endorsement of the payload'),
  } satisfies MembersOf<AttestedCall['responses'][number]>),
);

const attested = {
  proposal: Base64('SignedProposal of the call'),
  responses: Type.Array(AttestedResponse, { description: 'One for each peer that signed.' }),
};

/** What peers of a Fabric channel signed about a record. */
export const FabricProof = named(
  'FabricProof',
  Type.Object({
    v: Type.Literal(1),
    kind: Type.Literal('fabric'),
    channel: Type.String({ description: "Fabric's name of the channel." }),
    chaincode: Text,
    view: Type.Object(attested, { description: 'That the contract answers this record: its `read`.' }),
    statement: Type.Object(
      { transactionId: Hex, ...attested },
      { description: 'The transaction that wrote it and its validation code: GetTransactionByID of qscc.' },
    ),
    block: Type.Optional(Base64('Block of the transaction, with all that is in it')),
  } satisfies MembersOf<PeersProof>),
);

export const ProvedOnFabric = named(
  'ProvedOnFabric',
  Type.Object({ receipt: FabricReceipt, proof: FabricProof } satisfies MembersOf<PeersProvedRecord>, {
    description:
      'On Fabric: input of `sealgate-verify receipt` with `--trust`, the trust file of the channel. Peers of the named ' +
      'organisations signed that the record is in the channel, valid, by this transaction.',
  }),
);
