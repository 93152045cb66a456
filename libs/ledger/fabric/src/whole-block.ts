import { X509Certificate } from 'node:crypto';
import { common, msp, peer } from '@hyperledger/fabric-protos';
import { blockHash } from './block-hash.ts';
import { contractTransaction, readable, type BlockTransaction } from './block-content.ts';
import { nameOfCode } from './validation-code.ts';

/** One entry of a block. Arguments and private data are left out. */
export interface BlockEntry {
  /** Place in its block. */
  readonly place: number;
  /** `other`: neither of a contract nor a configuration, or it cannot be decoded. */
  readonly kind: 'contract' | 'configuration' | 'other';
  /** '' if it has none. */
  readonly transactionId: string;
  /** Fabric's name of the validation code: `VALID`, or why it has no effect. */
  readonly code: string;
  /** The time that the submitter chose; undefined if there is none. */
  readonly at: string | undefined;
  /** Empty texts for bytes that are no identity: such a transaction is not valid. */
  readonly creator: { readonly mspId: string; readonly subject: string };
  /** MSP ids of the peers that endorsed it. */
  readonly endorsers: readonly string[];
  /** '' unless it is of a contract. */
  readonly chaincode: string;
  /** The first argument, at most 256 characters. */
  readonly function: string;
  /** Also deleted ones; not those of private collections. If it is not valid, nothing was written. */
  readonly writes: BlockTransaction['writes'];
}

/** A block with all of its entries, as every peer of the channel has it. */
export interface WholeBlock {
  readonly number: number;
  /** Lower hex, as the three hashes. By the first one the next block names it. */
  readonly hash: string;
  readonly previousHash: string;
  readonly dataHash: string;
  readonly entries: readonly BlockEntry[];
  /** Size of the entries on the wire. */
  readonly bytes: number;
}

type Block = InstanceType<typeof common.Block>;

const FUNCTION_MAX_LENGTH = 256;
const NOBODY = { mspId: '', subject: '' };
const NOTHING = new Uint8Array();
/** A first block has no codes, and a configuration in a block is valid. */
const VALID = 0;
const NOT_VALIDATED = 254;

/** @throws Error if the block has no header. */
export function wholeBlock(block: Block): WholeBlock {
  const header = block.getHeader();
  if (header === undefined) throw new Error('A peer has sent a block without a header.');
  const envelopes = envelopesOf(block);
  return {
    number: header.getNumber(),
    hash: blockHash(header),
    previousHash: Buffer.from(header.getPreviousHash_asU8()).toString('hex'),
    dataHash: Buffer.from(header.getDataHash_asU8()).toString('hex'),
    entries: envelopes.map((bytes, place) => entryAt(block, place, bytes)),
    bytes: envelopes.reduce((sum, { length }) => sum + length, 0),
  };
}

/** The transaction of a contract with this id. The others, and the certificates of who made them, are not decoded. */
export function contractEntry(block: Block, transactionId: string): BlockEntry | undefined {
  for (const [place, bytes] of envelopesOf(block).entries()) {
    if (readable(() => headersIn(bytes).header.getTxId()) !== transactionId) continue;
    const entry = entryAt(block, place, bytes);
    if (entry.kind === 'contract') return entry;
  }
  return undefined;
}

const envelopesOf = (block: Block): Uint8Array[] => block.getData()?.getDataList_asU8() ?? [];

function entryAt(block: Block, place: number, bytes: Uint8Array): BlockEntry {
  const codes = block.getMetadata()?.getMetadataList_asU8()[common.BlockMetadataIndex.TRANSACTIONS_FILTER];
  const content = readable(() => entryIn(bytes)) ?? UNREADABLE;
  const code = codes?.[place] ?? (content.kind === 'configuration' ? VALID : NOT_VALIDATED);
  return { place, code: nameOfCode(code), ...content };
}

type Content = Omit<BlockEntry, 'place' | 'code'>;

const EMPTY = { endorsers: [], chaincode: '', function: '', writes: [] };
const UNREADABLE: Content = { kind: 'other', transactionId: '', at: undefined, creator: NOBODY, ...EMPTY };

function headersIn(bytes: Uint8Array) {
  const payload = common.Payload.deserializeBinary(common.Envelope.deserializeBinary(bytes).getPayload_asU8());
  const header = common.ChannelHeader.deserializeBinary(payload.getHeader()?.getChannelHeader_asU8() ?? NOTHING);
  return { payload, header };
}

function entryIn(bytes: Uint8Array): Content {
  const { payload, header } = headersIn(bytes);
  const signature = common.SignatureHeader.deserializeBinary(payload.getHeader()?.getSignatureHeader_asU8() ?? NOTHING);
  const shared = {
    transactionId: header.getTxId(),
    at: header.getTimestamp()?.toDate().toISOString(),
    creator: readable(() => creatorOf(signature.getCreator_asU8())) ?? NOBODY,
  };
  const read = contractTransaction(bytes);
  if (read === undefined) {
    const isConfiguration = header.getType() === common.HeaderType.CONFIG;
    return { kind: isConfiguration ? 'configuration' : 'other', ...shared, ...EMPTY };
  }
  const { chaincode, call, writes } = read;
  return {
    kind: 'contract',
    ...shared,
    endorsers: endorsersIn(payload),
    chaincode,
    function: (call[0]?.toString('utf8') ?? '').slice(0, FUNCTION_MAX_LENGTH),
    writes,
  };
}

function endorsersIn(payload: InstanceType<typeof common.Payload>): string[] {
  const [action] = peer.Transaction.deserializeBinary(payload.getData_asU8()).getActionsList();
  const endorsed = peer.ChaincodeActionPayload.deserializeBinary(action!.getPayload_asU8()).getAction();
  return (endorsed?.getEndorsementsList() ?? []).flatMap(
    (endorsement) => readable(() => mspIdOf(endorsement.getEndorser_asU8())) ?? [],
  );
}

const mspIdOf = (identity: Uint8Array): string => msp.SerializedIdentity.deserializeBinary(identity).getMspid();

function creatorOf(bytes: Uint8Array): BlockEntry['creator'] {
  const identity = msp.SerializedIdentity.deserializeBinary(bytes);
  const { subject } = new X509Certificate(Buffer.from(identity.getIdBytes_asU8()));
  return { mspId: identity.getMspid(), subject: subject.split('\n').join(', ') };
}
