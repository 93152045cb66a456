import { common, ledger, peer } from '@hyperledger/fabric-protos';
import { nameOfCode } from './validation-code.ts';

/** A write of a transaction, valid or not. Private data is not in blocks. */
interface BlockWrite {
  /** The chaincode whose state it is in. */
  readonly chaincode: string;
  readonly key: string;
  readonly isDelete: boolean;
}

/** A transaction of a contract, as every peer of the channel has it. */
export interface BlockTransaction {
  /** Place in its block. */
  readonly place: number;
  readonly transactionId: string;
  /** Fabric's validation code: `VALID`, `MVCC_READ_CONFLICT`, ... */
  readonly code: string;
  /** The time in the proposal, which the submitter chose; undefined if there is none. */
  readonly at: string | undefined;
  readonly chaincode: string;
  /** The name of the transaction, as it was called (`contract:transaction`), and its arguments. */
  readonly call: readonly Buffer[];
  readonly writes: readonly BlockWrite[];
  /** What the contract emitted. */
  readonly event: { readonly name: string; readonly payload: Buffer } | undefined;
}

export interface ChannelBlock {
  readonly number: number;
  /** Of its transactions, those of contracts; what cannot be decoded has no effect on any peer, and is left out. */
  readonly transactions: readonly BlockTransaction[];
  /** Size on the wire. */
  readonly bytes: number;
}

type Block = InstanceType<typeof common.Block>;

/** @throws Error if the block is not one: it has no header, or a code too few. */
export function channelBlock(block: Block): ChannelBlock {
  const header = block.getHeader();
  const envelopes = block.getData()?.getDataList_asU8() ?? [];
  const codes = block.getMetadata()?.getMetadataList_asU8()[common.BlockMetadataIndex.TRANSACTIONS_FILTER];
  if (header === undefined || codes === undefined || codes.length < envelopes.length)
    throw new Error('A peer has sent a block without header or validation codes.');
  const transactions = envelopes.flatMap((bytes, place) => {
    const read = contractTransaction(bytes);
    return read === undefined ? [] : [{ place, code: nameOfCode(codes[place]!), ...read }];
  });
  const bytes = envelopes.reduce((sum, { length }) => sum + length, 0);
  return { number: header.getNumber(), transactions, bytes };
}

/** A transaction of a block; undefined for what `ChannelBlock` leaves out. */
export const contractTransaction = (bytes: Uint8Array): ReturnType<typeof transactionIn> =>
  readable(() => transactionIn(bytes));

/** Undefined for other transactions, such as a new configuration of the channel. */
function transactionIn(bytes: Uint8Array): Omit<BlockTransaction, 'place' | 'code'> | undefined {
  const payload = common.Payload.deserializeBinary(common.Envelope.deserializeBinary(bytes).getPayload_asU8());
  const header = common.ChannelHeader.deserializeBinary(payload.getHeader()?.getChannelHeader_asU8() ?? NOTHING);
  if (header.getType() !== common.HeaderType.ENDORSER_TRANSACTION) return undefined;
  // A transaction has exactly one action: peers refuse any other number.
  const [action] = peer.Transaction.deserializeBinary(payload.getData_asU8()).getActionsList();
  if (action === undefined) return undefined;
  const endorsed = peer.ChaincodeActionPayload.deserializeBinary(action.getPayload_asU8());
  const response = peer.ProposalResponsePayload.deserializeBinary(
    endorsed.getAction()?.getProposalResponsePayload_asU8() ?? NOTHING,
  );
  const result = peer.ChaincodeAction.deserializeBinary(response.getExtension_asU8());
  return {
    transactionId: header.getTxId(),
    at: header.getTimestamp()?.toDate().toISOString(),
    chaincode: result.getChaincodeId()?.getName() ?? '',
    call: callIn(endorsed.getChaincodeProposalPayload_asU8()),
    writes: writesIn(result.getResults_asU8()),
    event: eventIn(result.getEvents_asU8()),
  };
}

const NOTHING = new Uint8Array();

function callIn(bytes: Uint8Array): Buffer[] {
  const payload = peer.ChaincodeProposalPayload.deserializeBinary(bytes);
  const spec = peer.ChaincodeInvocationSpec.deserializeBinary(payload.getInput_asU8()).getChaincodeSpec();
  return (spec?.getInput()?.getArgsList_asU8() ?? []).map((argument) => Buffer.from(argument));
}

function writesIn(bytes: Uint8Array): BlockWrite[] {
  const sets = ledger.rwset.TxReadWriteSet.deserializeBinary(bytes).getNsRwsetList();
  return sets.flatMap((set) =>
    ledger.rwset.kvrwset.KVRWSet.deserializeBinary(set.getRwset_asU8())
      .getWritesList()
      .map((write) => ({ chaincode: set.getNamespace(), key: write.getKey(), isDelete: write.getIsDelete() })),
  );
}

function eventIn(bytes: Uint8Array): BlockTransaction['event'] {
  if (bytes.length === 0) return undefined;
  const event = peer.ChaincodeEvent.deserializeBinary(bytes);
  return { name: event.getEventName(), payload: Buffer.from(event.getPayload_asU8()) };
}

/** A client may order any bytes. */
export function readable<Value>(read: () => Value | undefined): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
