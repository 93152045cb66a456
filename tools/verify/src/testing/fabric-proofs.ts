import { createHash, randomBytes } from 'node:crypto';
import { common, ledger, peer } from '@hyperledger/fabric-protos';
import { canonical, type JsonValue } from '@sealgate/json';
import {
  CHAINCODE,
  CHANNEL,
  client,
  identityOf,
  northPeer,
  type Signer,
  signLowS,
  southPeer,
} from './fabric-members.ts';

/** Within the validity of every certificate of the tests. */
const AT_SECONDS = 1_790_000_000;

export interface ProofPlan {
  readonly channel: string;
  readonly signers: readonly Signer[];
  /** Of the view only; default: the same. */
  readonly viewSigners: readonly Signer[] | undefined;
  readonly creator: Signer;
  /** Who submitted the transaction. */
  readonly submitter: Signer;
  readonly code: number;
  /** Changes the record that the peers read; not what the transaction writes. */
  readonly read: (record: Record<string, JsonValue>) => Record<string, JsonValue>;
  readonly record: { readonly id: string; readonly type: string; readonly data: JsonValue };
  /** Before the id and the type in the contract, as in a shared channel. */
  readonly prefix: string;
  readonly readArgs: readonly string[] | undefined;
  /** The id of the transaction that the peers are asked for; default: the one that wrote. */
  readonly askedFor: string | undefined;
  readonly atSeconds: number;
  readonly readStatus: number;
  /** Replaces each signature over these bytes. */
  /** In the header of the block; the record is read from block 6. */
  readonly blockNumber: number;
  readonly signature: (signature: Buffer) => Buffer;
}

const PLAN: ProofPlan = {
  channel: CHANNEL,
  signers: [northPeer, southPeer],
  viewSigners: undefined,
  creator: client,
  submitter: client,
  code: 0,
  read: (record) => record,
  record: { id: 'order-7', type: 'demo.order', data: { total: 12 } },
  prefix: '',
  readArgs: undefined,
  askedFor: undefined,
  atSeconds: AT_SECONDS,
  readStatus: 200,
  blockNumber: 6,
  signature: (signature) => signature,
};

/** The JSON of a ledger peer for one record, made and signed as Fabric's peers do. */
export function fabricProof(changes: Partial<ProofPlan> = {}) {
  const plan = { ...PLAN, ...changes };
  const [id, type] = [plan.prefix + plan.record.id, plan.prefix + plan.record.type];
  const content = { type, owner: null, data: plan.record.data, extra: null };
  const contentHash = createHash('sha256').update(canonical(content)).digest('hex');
  const write = proposalOf(plan, plan.submitter, CHAINCODE, ['createMany', '[]']);
  const { transactionId } = write;
  const place = { id, version: 1, contentHash, transactionId, at: '2026-09-21T14:13:20.000Z' };
  const envelope = transactionOf(plan, write, writesOf({ ...content, ...place }));
  const record = plan.read({ ...content, ...place });
  const view = proposalOf(plan, plan.creator, CHAINCODE, plan.readArgs ?? ['read', id]);
  const answer = { status: plan.readStatus, payload: Buffer.from(canonical(record)), results: readsOf(id, type) };
  const processed = new peer.ProcessedTransaction();
  processed.setTransactionenvelope(envelope);
  processed.setValidationcode(plan.code);
  const asked = plan.askedFor ?? transactionId;
  const statement = proposalOf(plan, plan.creator, 'qscc', ['GetTransactionByID', plan.channel, asked]);
  const known = { status: 200, payload: Buffer.from(processed.serializeBinary()), results: Buffer.alloc(0) };
  const bare = { id: plan.record.id, type: plan.record.type };
  return {
    asset: { ...content, ...place, ...bare } as Record<string, JsonValue>,
    receipt: { network: 'acme', channel: 'acme.main', ...content, ...place, ...bare, data: undefined } as Record<
      string,
      unknown
    >,
    proof: {
      v: 1,
      kind: 'fabric',
      channel: plan.channel,
      chaincode: CHAINCODE,
      view: attested(plan, view, CHAINCODE, answer, plan.viewSigners ?? plan.signers),
      statement: { transactionId: asked, ...attested(plan, statement, 'qscc', known, plan.signers) },
      block: blockOf(envelope, plan).toString('base64'),
    },
  };
}

export type FabricFile = ReturnType<typeof fabricProof>;

interface MadeProposal {
  readonly transactionId: string;
  readonly header: InstanceType<typeof common.Header>;
  readonly payload: Uint8Array;
  readonly signed: Buffer;
}

function proposalOf(plan: ProofPlan, creator: Signer, chaincode: string, args: readonly string[]): MadeProposal {
  const nonce = randomBytes(24);
  const identity = identityOf(creator);
  const transactionId = createHash('sha256').update(nonce).update(identity).digest('hex');
  const channelHeader = new common.ChannelHeader();
  channelHeader.setType(common.HeaderType.ENDORSER_TRANSACTION);
  channelHeader.setChannelId(plan.channel);
  channelHeader.setTxId(transactionId);
  channelHeader.setTimestamp(timestampOf(plan.atSeconds));
  const signatureHeader = new common.SignatureHeader();
  signatureHeader.setCreator(identity);
  signatureHeader.setNonce(nonce);
  const header = new common.Header();
  header.setChannelHeader(channelHeader.serializeBinary());
  header.setSignatureHeader(signatureHeader.serializeBinary());
  const id = new peer.ChaincodeID();
  id.setName(chaincode);
  const input = new peer.ChaincodeInput();
  input.setArgsList(args.map((arg) => Buffer.from(arg)));
  const spec = new peer.ChaincodeSpec();
  spec.setChaincodeId(id);
  spec.setInput(input);
  const invocation = new peer.ChaincodeInvocationSpec();
  invocation.setChaincodeSpec(spec);
  const payload = new peer.ChaincodeProposalPayload();
  payload.setInput(invocation.serializeBinary());
  const proposal = new peer.Proposal();
  proposal.setHeader(header.serializeBinary());
  proposal.setPayload(payload.serializeBinary());
  const signed = new peer.SignedProposal();
  signed.setProposalBytes(proposal.serializeBinary());
  signed.setSignature(signLowS(creator, proposal.serializeBinary()));
  return { transactionId, header, payload: payload.serializeBinary(), signed: Buffer.from(signed.serializeBinary()) };
}

interface Answer {
  readonly status: number;
  readonly payload: Buffer;
  readonly results: Uint8Array;
}

function payloadOf({ header, payload }: MadeProposal, chaincode: string, answer: Answer): Buffer {
  const response = new peer.Response();
  response.setStatus(answer.status);
  response.setPayload(answer.payload);
  const id = new peer.ChaincodeID();
  id.setName(chaincode);
  const action = new peer.ChaincodeAction();
  action.setResults(answer.results);
  action.setResponse(response);
  action.setChaincodeId(id);
  const hash = createHash('sha256')
    .update(header.getChannelHeader_asU8())
    .update(header.getSignatureHeader_asU8())
    .update(payload);
  const made = new peer.ProposalResponsePayload();
  made.setProposalHash(hash.digest());
  made.setExtension$(action.serializeBinary());
  return Buffer.from(made.serializeBinary());
}

function attested(
  plan: ProofPlan,
  proposal: MadeProposal,
  ...[chaincode, answer, signers]: readonly [string, Answer, readonly Signer[]]
) {
  const payload = payloadOf(proposal, chaincode, answer);
  return {
    proposal: proposal.signed.toString('base64'),
    responses: signers.map((signer) => ({
      mspId: signer.mspId,
      payload: payload.toString('base64'),
      endorsement: Buffer.from(endorsementOf(plan, signer, payload).serializeBinary()).toString('base64'),
    })),
  };
}

function endorsementOf(plan: ProofPlan, signer: Signer, payload: Buffer) {
  const endorsement = new peer.Endorsement();
  const identity = identityOf(signer);
  endorsement.setEndorser(identity);
  endorsement.setSignature(plan.signature(signLowS(signer, Buffer.concat([payload, identity]))));
  return endorsement;
}

function transactionOf(plan: ProofPlan, proposal: MadeProposal, results: Uint8Array) {
  const payload = payloadOf(proposal, CHAINCODE, { status: 200, payload: Buffer.from('[]'), results });
  const endorsed = new peer.ChaincodeEndorsedAction();
  endorsed.setProposalResponsePayload(payload);
  endorsed.setEndorsementsList([northPeer, southPeer].map((signer) => endorsementOf(PLAN, signer, payload)));
  const actionPayload = new peer.ChaincodeActionPayload();
  actionPayload.setChaincodeProposalPayload(proposal.payload);
  actionPayload.setAction(endorsed);
  const action = new peer.TransactionAction();
  action.setHeader(proposal.header.getSignatureHeader_asU8());
  action.setPayload(actionPayload.serializeBinary());
  const transaction = new peer.Transaction();
  transaction.addActions(action);
  const outer = new common.Payload();
  outer.setHeader(proposal.header);
  outer.setData(transaction.serializeBinary());
  const envelope = new common.Envelope();
  envelope.setPayload(outer.serializeBinary());
  envelope.setSignature(signLowS(plan.submitter, outer.serializeBinary()));
  return envelope;
}

type Written = Record<string, JsonValue> & { readonly id: string; readonly type: string };

const keysOf = (id: string, type: string) => {
  const hex = (text: string) => Buffer.from(text).toString('hex');
  return { head: `i/${hex(id)}`, record: `r/${hex(type)}/${hex(id)}` };
};

/** What the contract writes: the head of a record, and the record. */
function writesOf(record: Written): Uint8Array {
  const { id, type, version, contentHash, transactionId } = record;
  const { head, record: recordKey } = keysOf(id, type);
  const kv = new ledger.rwset.kvrwset.KVRWSet();
  for (const [key, value] of [
    [head, { type, version, contentHash, transactionId }],
    [recordKey, { ...record, data: JSON.stringify(record['data']) }],
  ] as const) {
    const write = new ledger.rwset.kvrwset.KVWrite();
    write.setKey(key);
    write.setValue(Buffer.from(JSON.stringify(value)));
    kv.addWrites(write);
  }
  return readWriteSetOf(kv);
}

function readsOf(id: string, type: string): Uint8Array {
  const version = new ledger.rwset.kvrwset.Version();
  version.setBlockNum(6);
  const kv = new ledger.rwset.kvrwset.KVRWSet();
  for (const key of Object.values(keysOf(id, type))) {
    const read = new ledger.rwset.kvrwset.KVRead();
    read.setKey(key);
    read.setVersion(version);
    kv.addReads(read);
  }
  return readWriteSetOf(kv);
}

function readWriteSetOf(kv: InstanceType<typeof ledger.rwset.kvrwset.KVRWSet>): Uint8Array {
  const namespace = new ledger.rwset.NsReadWriteSet();
  namespace.setNamespace(CHAINCODE);
  namespace.setRwset(kv.serializeBinary());
  const set = new ledger.rwset.TxReadWriteSet();
  set.addNsRwset(namespace);
  return set.serializeBinary();
}

function blockOf(envelope: InstanceType<typeof common.Envelope>, { code, blockNumber }: ProofPlan): Buffer {
  const data = new common.BlockData();
  data.setDataList([envelope.serializeBinary()]);
  const header = new common.BlockHeader();
  header.setNumber(blockNumber);
  header.setDataHash(createHash('sha256').update(envelope.serializeBinary()).digest());
  const metadata = new common.BlockMetadata();
  metadata.setMetadataList([new Uint8Array(), new Uint8Array(), Uint8Array.of(code)]);
  const block = new common.Block();
  block.setHeader(header);
  block.setData(data);
  block.setMetadata(metadata);
  return Buffer.from(block.serializeBinary());
}

function timestampOf(seconds: number) {
  const header = common.ChannelHeader.deserializeBinary(Uint8Array.of(0x1a, 0));
  const time = header.getTimestamp()!;
  time.setSeconds(seconds);
  return time;
}
