import { createHash } from 'node:crypto';
import { common, peer } from '@hyperledger/fabric-protos';

/** A client's signed proposal, parsed. */
export interface ParsedProposal {
  readonly signed: InstanceType<typeof peer.SignedProposal>;
  readonly header: InstanceType<typeof common.Header>;
  readonly signatureHeader: InstanceType<typeof common.SignatureHeader>;
  readonly payload: InstanceType<typeof peer.ChaincodeProposalPayload>;
  readonly channel: string;
  readonly transactionId: string;
  readonly chaincode: string;
  /** A serialized ChaincodeInput. */
  readonly input: Uint8Array;
}

export interface ParsedEnvelope {
  readonly envelope: InstanceType<typeof common.Envelope>;
  readonly payload: InstanceType<typeof common.Payload>;
  readonly channelHeader: InstanceType<typeof common.ChannelHeader>;
  readonly creator: Uint8Array;
}

/** @throws protobuf's error if the bytes are not a proposal, Error if it names no channel or chaincode. */
export function parseProposal(signed: InstanceType<typeof peer.SignedProposal>): ParsedProposal {
  const proposal = peer.Proposal.deserializeBinary(signed.getProposalBytes_asU8());
  const header = common.Header.deserializeBinary(proposal.getHeader_asU8());
  const channelHeader = common.ChannelHeader.deserializeBinary(header.getChannelHeader_asU8());
  const signatureHeader = common.SignatureHeader.deserializeBinary(header.getSignatureHeader_asU8());
  const payload = peer.ChaincodeProposalPayload.deserializeBinary(proposal.getPayload_asU8());
  const invocation = peer.ChaincodeInvocationSpec.deserializeBinary(payload.getInput_asU8());
  const spec = invocation.getChaincodeSpec();
  const channel = channelHeader.getChannelId();
  if (channel === '') throw new Error('no channel id provided');
  const chaincode = spec?.getChaincodeId()?.getName() ?? '';
  if (chaincode === '') throw new Error(`no chaincode name is provided, channel id [${channel}]`);
  const input = spec?.getInput()?.serializeBinary() ?? new Uint8Array();
  const transactionId = channelHeader.getTxId();
  return { signed, header, signatureHeader, payload, channel, transactionId, chaincode, input };
}

export function parseEnvelope(envelope: InstanceType<typeof common.Envelope>): ParsedEnvelope {
  const payload = common.Payload.deserializeBinary(envelope.getPayload_asU8());
  const header = payload.getHeader();
  if (header === undefined) throw new Error('envelope has no header');
  const channelHeader = common.ChannelHeader.deserializeBinary(header.getChannelHeader_asU8());
  const signatureHeader = common.SignatureHeader.deserializeBinary(header.getSignatureHeader_asU8());
  return { envelope, payload, channelHeader, creator: signatureHeader.getCreator_asU8() };
}

/** A transaction id is the hash of nonce and creator. */
export function expectedTransactionId(header: InstanceType<typeof common.SignatureHeader>): string {
  return createHash('sha256').update(header.getNonce_asU8()).update(header.getCreator_asU8()).digest('hex');
}

/** The parts of an endorsed transaction that the validator checks. */
export interface ParsedTransaction {
  readonly proposalResponsePayload: Uint8Array;
  readonly endorsements: readonly InstanceType<typeof peer.Endorsement>[];
  readonly action: InstanceType<typeof peer.ChaincodeAction>;
}

export function parseTransaction(payload: InstanceType<typeof common.Payload>): ParsedTransaction {
  const transaction = peer.Transaction.deserializeBinary(payload.getData_asU8());
  const [only] = transaction.getActionsList();
  if (only === undefined) throw new Error('transaction has no action');
  const endorsed = peer.ChaincodeActionPayload.deserializeBinary(only.getPayload_asU8()).getAction();
  if (endorsed === undefined) throw new Error('action has no endorsements');
  const proposalResponsePayload = endorsed.getProposalResponsePayload_asU8();
  const response = peer.ProposalResponsePayload.deserializeBinary(proposalResponsePayload);
  const action = peer.ChaincodeAction.deserializeBinary(response.getExtension_asU8());
  return { proposalResponsePayload, endorsements: endorsed.getEndorsementsList(), action };
}
