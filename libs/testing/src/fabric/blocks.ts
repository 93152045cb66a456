import { createHash } from 'node:crypto';
import { common, peer } from '@hyperledger/fabric-protos';
import { parseEnvelope, parseTransaction } from './signed-request.ts';

export type Block = InstanceType<typeof common.Block>;

export function makeBlock({
  number,
  previous,
  envelopes,
  codes,
}: {
  readonly channel: string;
  readonly number: number;
  readonly previous: Block;
  readonly envelopes: readonly InstanceType<typeof common.Envelope>[];
  /** One TxValidationCode for each envelope. */
  readonly codes: readonly number[];
}): Block {
  return assemble(number, hashOf(previous), envelopes, codes);
}

/** The configuration block of a channel. `config` is a serialized ConfigEnvelope. */
export function makeGenesisBlock(channel: string, config: Uint8Array): Block {
  const channelHeader = new common.ChannelHeader();
  channelHeader.setType(common.HeaderType.CONFIG);
  channelHeader.setChannelId(channel);
  const header = new common.Header();
  header.setChannelHeader(channelHeader.serializeBinary());
  header.setSignatureHeader(new common.SignatureHeader().serializeBinary());
  const payload = new common.Payload();
  payload.setHeader(header);
  payload.setData(config);
  const envelope = new common.Envelope();
  envelope.setPayload(payload.serializeBinary());
  return assemble(0, new Uint8Array(), [envelope], [peer.TxValidationCode.VALID]);
}

function assemble(
  number: number,
  previousHash: Uint8Array,
  envelopes: readonly InstanceType<typeof common.Envelope>[],
  codes: readonly number[],
): Block {
  const data = new common.BlockData();
  data.setDataList(envelopes.map((envelope) => envelope.serializeBinary()));
  const header = new common.BlockHeader();
  header.setNumber(number);
  header.setPreviousHash(previousHash);
  header.setDataHash(createHash('sha256').update(data.serializeBinary()).digest());
  const block = new common.Block();
  block.setHeader(header);
  block.setData(data);
  block.setMetadata(metadataWith(codes));
  return block;
}

/** Indexed by BlockMetadataIndex; only the validation codes are filled. */
function metadataWith(codes: readonly number[]): InstanceType<typeof common.BlockMetadata> {
  const list = Array.from({ length: 5 }, () => new Uint8Array());
  list[common.BlockMetadataIndex.TRANSACTIONS_FILTER] = Uint8Array.from(codes);
  const metadata = new common.BlockMetadata();
  metadata.setMetadataList(list);
  return metadata;
}

export function codesOf(block: Block): Uint8Array {
  return block.getMetadata()!.getMetadataList_asU8()[common.BlockMetadataIndex.TRANSACTIONS_FILTER]!;
}

/** The same block with other validation codes, as a disagreeing peer would send. */
export function withCodes(block: Block, codes: Uint8Array): Block {
  const other = common.Block.deserializeBinary(block.serializeBinary());
  other.setMetadata(metadataWith([...codes]));
  return other;
}

/** The transactions of a block, in order. */
export function transactionsIn(block: Block) {
  return block
    .getData()!
    .getDataList_asU8()
    .map((bytes) => {
      const { payload, channelHeader } = parseEnvelope(common.Envelope.deserializeBinary(bytes));
      return {
        transactionId: channelHeader.getTxId(),
        type: channelHeader.getType() as 1 | 3,
        /** The event set by its chaincode, if any. */
        event: () => eventIn(payload, channelHeader.getType()),
      };
    });
}

function eventIn(payload: InstanceType<typeof common.Payload>, type: number) {
  if (type !== common.HeaderType.ENDORSER_TRANSACTION) return undefined;
  const bytes = parseTransaction(payload).action.getEvents_asU8();
  return bytes.length === 0 ? undefined : peer.ChaincodeEvent.deserializeBinary(bytes);
}

/** The block without contents: events keep their names but not their payloads. */
export function filteredBlock(channel: string, block: Block): InstanceType<typeof peer.FilteredBlock> {
  const filtered = new peer.FilteredBlock();
  filtered.setChannelId(channel);
  filtered.setNumber(block.getHeader()!.getNumber());
  const codes = codesOf(block);
  for (const [place, transaction] of transactionsIn(block).entries()) {
    const entry = new peer.FilteredTransaction();
    entry.setTxid(transaction.transactionId);
    entry.setType(transaction.type);
    entry.setTxValidationCode(codes[place] as 0);
    const event = transaction.event();
    if (event !== undefined) {
      event.setPayload(new Uint8Array());
      const action = new peer.FilteredChaincodeAction();
      action.setChaincodeEvent(event);
      const actions = new peer.FilteredTransactionActions();
      actions.addChaincodeActions(action);
      entry.setTransactionActions(actions);
    }
    filtered.addFilteredTransactions(entry);
  }
  return filtered;
}

function hashOf(block: Block): Uint8Array {
  return createHash('sha256').update(block.getHeader()!.serializeBinary()).digest();
}
