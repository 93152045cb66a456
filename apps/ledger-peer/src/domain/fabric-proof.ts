import { named, orNull } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { AnyJson, ReadAsset } from './asset.ts';

const Text = Type.String();
const Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Base64 = (message: string) => Type.String({ description: `A serialized ${message}, in base64.` });

const FabricReceipt = named(
  'FabricReceipt',
  Type.Object({
    network: Text,
    channel: Text,
    id: Text,
    type: Text,
    owner: orNull(Text),
    extra: AnyJson({}),
    version: Type.Integer(),
    contentHash: Type.String({ description: 'SHA-256 over JCS({type, owner, data, extra}), as of the contract.' }),
    transactionId: Hex,
    at: Type.String({ description: "The submitter's time of the transaction." }),
  }),
);

const AttestedResponse = named(
  'AttestedResponse',
  Type.Object({
    mspId: Text,
    payload: Base64('ProposalResponsePayload'),
    endorsement: Base64('Endorsement of the payload'),
  }),
);

const attested = {
  proposal: Base64('SignedProposal of the call'),
  responses: Type.Array(AttestedResponse, { description: 'One for each peer that signed.' }),
};

const FabricProof = named(
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
  }),
);

/** A record that peers have signed for. */
export interface ProvedOnFabric {
  readonly receipt: Static<typeof FabricReceipt>;
  readonly proof: Static<typeof FabricProof>;
}

export const FabricProvedAsset = named(
  'FabricProvedAsset',
  Type.Object(
    { asset: ReadAsset, receipt: FabricReceipt, proof: FabricProof },
    { description: 'With `proof=true` or `proof=block`, on Fabric.' },
  ),
);
