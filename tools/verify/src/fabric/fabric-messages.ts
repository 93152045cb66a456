import { Bytes, sha256 } from '@sealgate/json';
import { MalformedMessageError, readMessage } from './wire-message.ts';

// Field numbers of Fabric's messages (hyperledger/fabric-protos): common/common.proto, peer/proposal.proto,
// peer/proposal_response.proto, peer/transaction.proto, peer/chaincode.proto, ledger/rwset, msp/identities.proto.

/** HeaderType ENDORSER_TRANSACTION. */
const ENDORSER_TRANSACTION = 3;

/** The headers of a proposal or a transaction, which its creator signed. */
export interface CallHeader {
  readonly channel: string;
  readonly transactionId: string;
  /** Milliseconds since the epoch, as its creator says. */
  readonly atMs: number;
  /** A serialized identity. */
  readonly creator: Bytes;
  readonly channelHeader: Bytes;
  readonly signatureHeader: Bytes;
}

/** A signed proposal, or a transaction. */
export interface SignedCall {
  readonly header: CallHeader;
  /** The signed bytes and the signature of the creator. */
  readonly signed: Bytes;
  readonly signature: Bytes;
}

export interface Proposal extends SignedCall {
  readonly chaincode: string;
  readonly args: readonly Bytes[];
  /** What the endorsers sign of the proposal. */
  readonly hash: string;
}

/** What the endorsers of a call sign: the hash of its proposal, and what the chaincode did. */
export interface ResponsePayload {
  readonly proposalHash: string;
  readonly chaincode: string;
  readonly status: number;
  /** What the chaincode returned. */
  readonly result: Bytes;
  /** A serialized TxReadWriteSet. */
  readonly readWriteSet: Bytes;
}

export interface Endorsement {
  /** A serialized identity. */
  readonly endorser: Bytes;
  readonly signature: Bytes;
}

/** A transaction of a block, and the code of its validation. */
export interface ProcessedTransaction extends SignedCall {
  readonly code: number;
  /** The serialized envelope, as in its block. */
  readonly envelope: Bytes;
  readonly chaincode: string;
  readonly payload: Bytes;
  readonly response: ResponsePayload;
  readonly endorsements: readonly Endorsement[];
}

function readHeader(bytes: Bytes): CallHeader {
  const header = readMessage(bytes, 'Header');
  const [channelHeader, signatureHeader] = [header.bytes(1), header.bytes(2)];
  const channel = readMessage(channelHeader, 'ChannelHeader');
  const signature = readMessage(signatureHeader, 'SignatureHeader');
  const [creator, nonce] = [signature.bytes(1), signature.bytes(2)];
  const transactionId = channel.text(5);
  if (channel.number(1) !== ENDORSER_TRANSACTION)
    throw new MalformedMessageError('ChannelHeader is not of a transaction of a chaincode');
  // A transaction id is the hash of nonce and creator, so that nobody else's proposal has it.
  if (sha256(Bytes.concat([nonce, creator])).toString('hex') !== transactionId)
    throw new MalformedMessageError('ChannelHeader has a transaction id that is not the hash of nonce and creator');
  const time = readMessage(channel.bytes(3), 'Timestamp');
  return {
    channel: channel.text(4),
    transactionId,
    atMs: time.number(1) * 1000,
    creator,
    channelHeader,
    signatureHeader,
  };
}

/** @throws MalformedMessageError */
export function readProposal(bytes: Bytes): Proposal {
  const outer = readMessage(bytes, 'SignedProposal');
  const [signed, signature] = [outer.bytes(1), outer.bytes(2)];
  const proposal = readMessage(signed, 'Proposal');
  const header = readHeader(proposal.bytes(1));
  const payload = proposal.bytes(2);
  const content = readMessage(payload, 'ChaincodeProposalPayload');
  if (content.all(2).length > 0) throw new MalformedMessageError('ChaincodeProposalPayload has transient data');
  return { header, signed, signature, hash: proposalHash(header, payload), ...readInvocation(content.bytes(1)) };
}

function readInvocation(bytes: Bytes): { readonly chaincode: string; readonly args: readonly Bytes[] } {
  const spec = readMessage(readMessage(bytes, 'ChaincodeInvocationSpec').bytes(1), 'ChaincodeSpec');
  return {
    chaincode: readMessage(spec.bytes(2), 'ChaincodeID').text(2),
    args: readMessage(spec.bytes(3), 'ChaincodeInput').all(1),
  };
}

/** Over both headers and the payload, each as its bytes. */
function proposalHash({ channelHeader, signatureHeader }: CallHeader, payload: Bytes): string {
  return sha256(Bytes.concat([channelHeader, signatureHeader, payload])).toString('hex');
}

/** @throws MalformedMessageError */
export function readResponsePayload(bytes: Bytes): ResponsePayload {
  const payload = readMessage(bytes, 'ProposalResponsePayload');
  const action = readMessage(payload.bytes(2), 'ChaincodeAction');
  const response = readMessage(action.bytes(3), 'Response');
  return {
    proposalHash: payload.bytes(1).toString('hex'),
    chaincode: readMessage(action.bytes(4), 'ChaincodeID').text(2),
    status: response.number(1),
    result: response.bytes(3),
    readWriteSet: action.bytes(1),
  };
}

/** @throws MalformedMessageError */
export function readEndorsement(bytes: Bytes): Endorsement {
  const message = readMessage(bytes, 'Endorsement');
  return { endorser: message.bytes(1), signature: message.bytes(2) };
}

/** @throws MalformedMessageError */
export function readIdentity(bytes: Bytes): { readonly mspId: string; readonly pem: string } {
  const identity = readMessage(bytes, 'SerializedIdentity');
  return { mspId: identity.text(1), pem: identity.text(2) };
}

/** @throws MalformedMessageError */
export function readProcessedTransaction(bytes: Bytes): ProcessedTransaction {
  const processed = readMessage(bytes, 'ProcessedTransaction');
  const envelopeBytes = processed.bytes(1);
  const envelope = readMessage(envelopeBytes, 'Envelope');
  const signed = envelope.bytes(1);
  const payload = readMessage(signed, 'Payload');
  const header = readHeader(payload.bytes(1));
  const [only, ...more] = readMessage(payload.bytes(2), 'Transaction').all(1);
  if (only === undefined || more.length > 0) throw new MalformedMessageError('Transaction has not one action');
  const action = readMessage(readMessage(only, 'TransactionAction').bytes(2), 'ChaincodeActionPayload');
  const endorsed = readMessage(action.bytes(2), 'ChaincodeEndorsedAction');
  const response = readResponsePayload(endorsed.bytes(1));
  const { chaincode } = readInvocation(readMessage(action.bytes(1), 'ChaincodeProposalPayload').bytes(1));
  if (response.proposalHash !== proposalHash(header, action.bytes(1)))
    throw new MalformedMessageError('The transaction has endorsements of another proposal');
  return {
    code: processed.number(2),
    header,
    signed,
    signature: envelope.bytes(2),
    envelope: envelopeBytes,
    chaincode,
    payload: endorsed.bytes(1),
    response,
    endorsements: endorsed.all(2).map(readEndorsement),
  };
}

/** The writes of one chaincode, by key. @throws MalformedMessageError if a key is written twice. */
export function writesOf(readWriteSet: Bytes, chaincode: string): ReadonlyMap<string, Bytes> {
  const writes = new Map<string, Bytes>();
  for (const set of setsOf(readWriteSet, chaincode)) {
    for (const bytes of set.all(3)) {
      const write = readMessage(bytes, 'KVWrite');
      const key = write.text(1);
      if (writes.has(key)) throw new MalformedMessageError(`KVRWSet writes the key ${key} twice`);
      if (write.number(2) === 0) writes.set(key, write.bytes(3));
    }
  }
  return writes;
}

/** Block number and place of the version of a key that was read; undefined if it was not, or not there. */
export function versionRead(
  readWriteSet: Bytes,
  chaincode: string,
  key: string,
): { readonly block: number; readonly place: number } | undefined {
  for (const set of setsOf(readWriteSet, chaincode)) {
    for (const bytes of set.all(1)) {
      const read = readMessage(bytes, 'KVRead');
      if (read.text(1) !== key || read.bytes(2).length === 0) continue;
      const version = readMessage(read.bytes(2), 'Version');
      return { block: version.number(1), place: version.number(2) };
    }
  }
  return undefined;
}

function setsOf(readWriteSet: Bytes, chaincode: string) {
  return readMessage(readWriteSet, 'TxReadWriteSet')
    .all(2)
    .map((bytes) => readMessage(bytes, 'NsReadWriteSet'))
    .filter((set) => set.text(1) === chaincode)
    .map((set) => readMessage(set.bytes(2), 'KVRWSet'));
}

/** A block: its number, its transactions, and the codes of their validation. */
export interface ChannelBlock {
  readonly number: number;
  /** Lower hex of the hash in the header. */
  readonly dataHash: string;
  readonly data: readonly Bytes[];
  readonly codes: Bytes;
}

/** BlockMetadataIndex TRANSACTIONS_FILTER. */
const CODES_AT = 2;

/** @throws MalformedMessageError */
export function readBlock(bytes: Bytes): ChannelBlock {
  const block = readMessage(bytes, 'Block');
  const header = readMessage(block.bytes(1), 'BlockHeader');
  return {
    number: header.number(1),
    dataHash: header.bytes(3).toString('hex'),
    data: readMessage(block.bytes(2), 'BlockData').all(1),
    codes: readMessage(block.bytes(3), 'BlockMetadata').all(1)[CODES_AT] ?? Bytes.from('', 'latin1'),
  };
}
