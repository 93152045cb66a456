import { createHash, createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { common, msp, peer } from '@hyperledger/fabric-protos';
import type { Certified } from './certificates.ts';
import type { Execution } from './chaincode-process.ts';
import { isLowS } from './membership.ts';
import type { ParsedProposal } from './signed-request.ts';

/** The peer's identity, which signs simulation results. */
export interface Endorser {
  /** A serialized identity. */
  readonly creator: Uint8Array;
  endorse(responsePayload: Uint8Array): InstanceType<typeof peer.Endorsement>;
}

export function endorser(mspId: string, { cert, key }: Certified): Endorser {
  const identity = new msp.SerializedIdentity();
  identity.setMspid(mspId);
  identity.setIdBytes(Buffer.from(cert));
  const creator = identity.serializeBinary();
  const privateKey = createPrivateKey(key);
  return {
    creator,
    endorse: (responsePayload) => {
      const endorsement = new peer.Endorsement();
      endorsement.setEndorser(creator);
      endorsement.setSignature(signLowS(Buffer.concat([responsePayload, creator]), privateKey));
      return endorsement;
    },
  };
}

/** Peers sign in the low form. A signature has it in one of two cases, so this ends soon. */
function signLowS(bytes: Buffer, key: KeyObject): Buffer {
  for (;;) {
    const signature = sign('sha256', bytes, key);
    if (isLowS(signature)) return signature;
  }
}

/** The transaction for the client to sign, as returned by Endorse. */
export function endorsedTransaction(
  proposal: ParsedProposal,
  { execution, readWriteSet }: { readonly execution: Execution; readonly readWriteSet: Uint8Array },
  endorsers: readonly Endorser[],
): InstanceType<typeof common.Envelope> {
  const responsePayload = proposalResponsePayload(proposal, execution, readWriteSet);
  return assemble(
    proposal,
    responsePayload,
    endorsers.map((each) => each.endorse(responsePayload)),
  );
}

function proposalResponsePayload(proposal: ParsedProposal, execution: Execution, readWriteSet: Uint8Array): Uint8Array {
  const chaincodeId = new peer.ChaincodeID();
  chaincodeId.setName(proposal.chaincode);
  chaincodeId.setVersion('1.0');
  const response = new peer.Response();
  response.setStatus(execution.status);
  response.setMessage(execution.message);
  response.setPayload(execution.payload);
  const action = new peer.ChaincodeAction();
  action.setResults(readWriteSet);
  action.setResponse(response);
  action.setChaincodeId(chaincodeId);
  if (execution.event !== undefined) {
    execution.event.setChaincodeId(proposal.chaincode);
    execution.event.setTxId(proposal.transactionId);
    action.setEvents(execution.event.serializeBinary());
  }
  const payload = new peer.ProposalResponsePayload();
  payload.setProposalHash(proposalHash(proposal));
  payload.setExtension$(action.serializeBinary());
  return payload.serializeBinary();
}

/** As of Fabric: over both headers and the part of the payload that goes to the ledger, each as its bytes. */
function proposalHash({ header, payload }: ParsedProposal): Buffer {
  return createHash('sha256')
    .update(header.getChannelHeader_asU8())
    .update(header.getSignatureHeader_asU8())
    .update(withoutTransient(payload))
    .digest();
}

/** Transient data stays on the peer: only the input goes to the ledger. */
function withoutTransient(payload: ParsedProposal['payload']): Uint8Array {
  const kept = new peer.ChaincodeProposalPayload();
  kept.setInput(payload.getInput_asU8());
  return kept.serializeBinary();
}

function assemble(
  { header, payload }: ParsedProposal,
  responsePayload: Uint8Array,
  endorsements: InstanceType<typeof peer.Endorsement>[],
): InstanceType<typeof common.Envelope> {
  const endorsed = new peer.ChaincodeEndorsedAction();
  endorsed.setProposalResponsePayload(responsePayload);
  endorsed.setEndorsementsList(endorsements);
  const actionPayload = new peer.ChaincodeActionPayload();
  actionPayload.setChaincodeProposalPayload(withoutTransient(payload));
  actionPayload.setAction(endorsed);
  const action = new peer.TransactionAction();
  action.setHeader(header.getSignatureHeader_asU8());
  action.setPayload(actionPayload.serializeBinary());
  const transaction = new peer.Transaction();
  transaction.addActions(action);
  const envelopePayload = new common.Payload();
  envelopePayload.setHeader(header);
  envelopePayload.setData(transaction.serializeBinary());
  const envelope = new common.Envelope();
  envelope.setPayload(envelopePayload.serializeBinary());
  return envelope;
}
