import type { Proposal, Transaction } from '@hyperledger/fabric-gateway';
import { common, gateway as protos, msp, peer } from '@hyperledger/fabric-protos';

/** What peers of several organisations signed about one read-only call. */
export interface Attestation {
  /** The serialized `SignedProposal` of the caller. */
  readonly proposal: Buffer;
  /** One for each peer, in the order of the gateway. */
  readonly responses: readonly AttestedResponse[];
  /** What the call returned, the same from every peer. */
  readonly result: Buffer;
}

interface AttestedResponse {
  readonly mspId: string;
  /** The serialized `ProposalResponsePayload`, which the endorsement signs. */
  readonly payload: Buffer;
  /** The serialized `Endorsement`: the peer's identity and its signature. */
  readonly endorsement: Buffer;
}

/**
 * Takes an endorsed transaction apart that will not be submitted. The gateway has put it together from responses with
 * equal payloads, and has removed nothing that was signed.
 */
export function attestationOf(proposal: Proposal, transaction: Transaction): Attestation {
  const proposed = protos.ProposedTransaction.deserializeBinary(proposal.getBytes()).getProposal()!;
  const endorsed = endorsedAction(transaction);
  const payload = Buffer.from(endorsed.getProposalResponsePayload_asU8());
  return {
    proposal: Buffer.from(proposed.serializeBinary()),
    responses: endorsed.getEndorsementsList().map((endorsement) => ({
      mspId: msp.SerializedIdentity.deserializeBinary(endorsement.getEndorser_asU8()).getMspid(),
      payload,
      endorsement: Buffer.from(endorsement.serializeBinary()),
    })),
    result: Buffer.from(transaction.getResult()),
  };
}

function endorsedAction(transaction: Transaction) {
  const prepared = protos.PreparedTransaction.deserializeBinary(transaction.getBytes());
  const payload = common.Payload.deserializeBinary(prepared.getEnvelope()!.getPayload_asU8());
  const [action] = peer.Transaction.deserializeBinary(payload.getData_asU8()).getActionsList();
  return peer.ChaincodeActionPayload.deserializeBinary(action!.getPayload_asU8()).getAction()!;
}
