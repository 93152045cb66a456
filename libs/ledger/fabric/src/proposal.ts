import { hash, randomFillSync } from 'node:crypto';
import type { ContractCall } from './contract-call.ts';
import type { FabricIdentity } from './identity-files.ts';
import { BackwardWriter, FIELD_OVERHEAD } from './protobuf.ts';

export interface SignedProposal {
  /** 64 lower hex digits. */
  readonly transactionId: string;
  /** `gateway.EndorseRequest`, and by the same bytes `gateway.EvaluateRequest`. */
  readonly request: Buffer;
}

/** `common.HeaderType`, `protos.ChaincodeSpec.Type`. */
const ENDORSER_TRANSACTION = 3;
const NODE = 2;
const NONCE_BYTES = 24;
const NONCES_AT_ONCE = 128;
/** Tags, lengths, numbers, ids, nonce, timestamp and signature: no field of them depends on the call. */
const FIXED_BYTES = 1024;
const CHANNEL_MAX_COPIES = 2;
const CHAINCODE_MAX_COPIES = 2;

const nonces = Buffer.alloc(NONCE_BYTES * NONCES_AT_ONCE);
let noncesLeft = 0;

/** Random bytes are drawn many at a time: a draw of few costs as much. */
function takeNonce(): Buffer {
  if (noncesLeft === 0) {
    randomFillSync(nonces);
    noncesLeft = NONCES_AT_ONCE;
  }
  noncesLeft -= 1;
  return nonces.subarray(noncesLeft * NONCE_BYTES, (noncesLeft + 1) * NONCE_BYTES);
}

/**
 * A new proposal of a call, signed, as the request that has it endorsed or evaluated. The messages are those of
 * fabric-protos 2.5 (`peer/proposal.proto`, `peer/chaincode.proto`, `common/common.proto`, `gateway/gateway.proto`); a test
 * holds them against what the gateway client makes of the same call.
 */
export function signProposal(call: ContractCall, identity: FabricIdentity, nowMs: number): SignedProposal {
  const nonce = takeNonce();
  const transactionId = hash('sha256', Buffer.concat([nonce, identity.creator]), 'hex');
  const name =
    call.contract === undefined || call.contract === '' ? call.transaction : `${call.contract}:${call.transaction}`;
  const args = [name, ...call.args];
  const writer = new BackwardWriter(FIXED_BYTES + boundOf(call, args) + identity.creator.length);
  const end = writer.end;
  const organisations = call.endorsingOrganizations ?? [];
  for (let at = organisations.length - 1; at >= 0; at -= 1) writer.text(4, organisations[at]!);
  const signed = writer.end;
  writeProposal(writer, { call, args, transactionId, nonce, creator: identity.creator, nowMs });
  const signature = identity.sign(writer.since(signed));
  writer.close(1, signed);
  writer.bytes(2, signature);
  writer.close(3, signed);
  writer.text(2, call.channel);
  writer.text(1, transactionId);
  return { transactionId, request: writer.since(end) };
}

interface ProposalFacts {
  readonly call: ContractCall;
  readonly args: readonly (string | Uint8Array)[];
  readonly transactionId: string;
  readonly nonce: Buffer;
  readonly creator: Buffer;
  readonly nowMs: number;
}

/** `protos.Proposal`: {1: header, 2: payload}. */
function writeProposal(writer: BackwardWriter, facts: ProposalFacts): void {
  const payload = writer.end;
  writePayload(writer, facts);
  writer.close(2, payload);
  const header = writer.end;
  writer.bytes(2, facts.nonce);
  writer.bytes(1, facts.creator);
  writer.close(2, header);
  const channelHeader = writer.end;
  writeChannelHeader(writer, facts);
  writer.close(1, channelHeader);
  writer.close(1, header);
}

/** `protos.ChaincodeProposalPayload`: {1: invocation {1: spec {1: type, 2: chaincode, 3: input {1: args}}}, 2: transient}. */
function writePayload(writer: BackwardWriter, { call, args }: ProposalFacts): void {
  for (const [key, value] of Object.entries(call.transient ?? {})) {
    const entry = writer.end;
    writeContent(writer, 2, value);
    writer.text(1, key);
    writer.close(2, entry);
  }
  const spec = writer.end;
  for (let at = args.length - 1; at >= 0; at -= 1) writeContent(writer, 1, args[at]!);
  writer.close(3, spec);
  writeChaincodeId(writer, call.chaincode);
  writer.number(1, NODE);
  writer.close(1, spec);
  writer.close(1, spec);
}

/** `common.ChannelHeader`: {1: type, 3: timestamp, 4: channel, 5: transaction id, 7: extension {2: chaincode}}. */
function writeChannelHeader(writer: BackwardWriter, { call, transactionId, nowMs }: ProposalFacts): void {
  const extension = writer.end;
  writeChaincodeId(writer, call.chaincode);
  writer.close(7, extension);
  writer.text(5, transactionId);
  writer.text(4, call.channel);
  const timestamp = writer.end;
  writer.number(2, (nowMs % 1000) * 1_000_000);
  writer.number(1, Math.floor(nowMs / 1000));
  writer.close(3, timestamp);
  writer.number(1, ENDORSER_TRANSACTION);
}

/** `protos.ChaincodeID` {2: name}, which is field 2 wherever it stands. */
function writeChaincodeId(writer: BackwardWriter, name: string): void {
  const id = writer.end;
  writer.text(2, name);
  writer.close(2, id);
}

function writeContent(writer: BackwardWriter, field: number, content: string | Uint8Array): void {
  if (typeof content === 'string') writer.text(field, content);
  else writer.bytes(field, content);
}

/** No fewer bytes than the call takes. */
function boundOf(
  { channel, chaincode, transient = {}, endorsingOrganizations = [] }: ContractCall,
  args: readonly (string | Uint8Array)[],
): number {
  const names = CHANNEL_MAX_COPIES * Buffer.byteLength(channel) + CHAINCODE_MAX_COPIES * Buffer.byteLength(chaincode);
  let bytes = names;
  for (const part of [...args, ...endorsingOrganizations]) bytes += FIELD_OVERHEAD + lengthOf(part);
  for (const [key, value] of Object.entries(transient)) bytes += 3 * FIELD_OVERHEAD + lengthOf(key) + lengthOf(value);
  return bytes;
}

const lengthOf = (part: string | Uint8Array): number =>
  typeof part === 'string' ? Buffer.byteLength(part) : part.length;
