import type { Receipt as SealedReceipt, RecordProof } from '@sealgate/envelope';
import { named, routeFor, type Route } from '@sealgate/http';
import type { JsonValue } from '@sealgate/json';
import { DeclaredLoss, ProvedOnFabric, type MembersOf } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';
import type { RiskCaller } from '../domain/caller.ts';
import { proveEvidence, type ProveEvidencePorts } from '../domain/prove-evidence.ts';
import { Integer, ofId, Optional, OrNull, Sha256, Text, Time } from '../schemas.ts';

const route = routeFor<RiskCaller>();

const Receipt = named(
  'Receipt',
  Type.Object({
    network: Text,
    channel: Text,
    id: Text,
    type: Text,
    owner: OrNull(Text),
    dataHash: Sha256,
    salt: OrNull(Sha256),
    extra: Type.Unsafe<JsonValue>(Type.Unknown()),
    transactionId: Text,
    at: Time,
    index: Integer,
    epoch: Optional(Integer),
  } satisfies MembersOf<SealedReceipt>),
);

const InclusionProof = named(
  'InclusionProof',
  Type.Object({
    channel: Text,
    index: Integer,
    leafHash: Sha256,
    treeSize: Integer,
    inclusionPath: Type.Array(Sha256, { description: 'From the leaf to the root.' }),
    checkpoint: Type.String({ description: 'A signed note (C2SP tlog-checkpoint).' }),
    epoch: Optional(Integer),
    origin: Optional(Text),
    declaration: Optional(Type.Object({ statement: DeclaredLoss, inclusionPath: Type.Array(Sha256) })),
  } satisfies MembersOf<RecordProof>),
);

const record = named(
  'FingerprintRecord',
  Type.Object(
    { data: Type.Unknown({ description: 'With the fingerprint; null once it was erased from the ledger.' }) },
    { description: 'The content of the record.' },
  ),
);

const EvidenceProof = named('EvidenceProof', Type.Object({ receipt: Receipt, proof: InclusionProof, record }));

const FabricEvidenceProof = named(
  'FabricEvidenceProof',
  Type.Object({ ...ProvedOnFabric.properties, record }, { description: ProvedOnFabric.description! }),
);

/** The proof of one evidence, for whoever may read it. */
export function evidenceProofRoute(ports: ProveEvidencePorts): Route<RiskCaller> {
  return route({
    method: 'get',
    path: '/api/evidence/:id/proof',
    permit: 'proof:read',
    operationId: 'dashboard_prove_evidence',
    summary: 'Prove that the fingerprint of evidence is in the ledger, in the format of the offline verifier',
    description:
      'For evidence that has a proof in `/api/v1/proofs`, with that proof; other evidence is 404. In a log that began with a declared loss, the proof is against the newest checkpoint and shows the declaration. On Fabric it is what peers signed; 503 while they have not signed yet and too few answer.',
    charge: 1,
    idempotency: 'none',
    tags: ['dashboard'],
    params: ofId,
    responses: {
      200: {
        description: 'The record, its receipt and its proof.',
        schema: Type.Union([EvidenceProof, FabricEvidenceProof]),
      },
    },
    errors: ['NOT_FOUND', 'LEDGER_UNAVAILABLE', 'RECORD_ARCHIVED'],
    handler: async ({ caller, params }) => ({ status: 200, body: await proveEvidence(ports, caller, params.id) }),
  });
}
