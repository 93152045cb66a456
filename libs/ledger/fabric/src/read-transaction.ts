import { X509Certificate } from 'node:crypto';
import { common, msp, peer } from '@hyperledger/fabric-protos';
import { contractTransaction, readable } from './block-content.ts';
import type { ContractCall, FabricClient } from './fabric-client.ts';
import { ContractRefusedError, UnavailableError } from './fabric-errors.ts';
import { nameOfCode } from './validation-code.ts';

/** A transaction of a channel, as a peer has it. */
export interface ChannelTransaction {
  readonly transactionId: string;
  readonly blockNumber: number;
  /** Fabric's name of the validation code: `VALID`, or why it has no effect. */
  readonly code: string;
  /** Empty texts for bytes that are no identity: such a transaction is not valid. */
  readonly creator: { readonly mspId: string; readonly subject: string };
  /** MSP ids of the peers that endorsed it. */
  readonly endorsers: readonly string[];
  readonly chaincode: string;
  /** The first argument, at most 256 characters. */
  readonly function: string;
  /** Also deleted ones; not those of private collections. If the transaction is not valid, nothing was written. */
  readonly writes: readonly { readonly chaincode: string; readonly key: string }[];
}

/** What a peer says of an id that is in no block (2.5, and before). */
const NO_SUCH = /no such transaction ID|entry not found in index/i;
const FUNCTION_MAX_LENGTH = 256;

/**
 * Finds a transaction of a chaincode by its id. Undefined: the channel has none; others (of the configuration) are not
 * found either. The peer sends the whole block.
 *
 * @throws as `FabricClient.evaluate`, without ContractRefusedError
 */
export async function readChannelTransaction(
  client: Pick<FabricClient, 'evaluate'>,
  { channel, identity }: Pick<ContractCall, 'channel' | 'identity'>,
  transactionId: string,
): Promise<ChannelTransaction | undefined> {
  const call = { channel, chaincode: 'qscc', transaction: 'GetBlockByTxID', args: [channel, transactionId], identity };
  let answer: Buffer;
  try {
    answer = await client.evaluate(call, { mayBeOutdated: (said) => said instanceof ContractRefusedError });
  } catch (error) {
    if (!(error instanceof ContractRefusedError)) throw error;
    if (NO_SUCH.test(error.message)) return undefined;
    throw new UnavailableError('The peer could not look the transaction up.', { cause: error, reason: 'call_refused' });
  }
  const block = common.Block.deserializeBinary(answer);
  const codes = block.getMetadata()?.getMetadataList_asU8()[common.BlockMetadataIndex.TRANSACTIONS_FILTER];
  for (const [place, bytes] of (block.getData()?.getDataList_asU8() ?? []).entries()) {
    const found = transactionIn(bytes, transactionId);
    const at = { blockNumber: block.getHeader()!.getNumber(), code: nameOfCode(codes?.[place] ?? -1) };
    if (found !== undefined) return { ...at, ...found };
  }
  return undefined;
}

type Content = Omit<ChannelTransaction, 'blockNumber' | 'code'>;

function transactionIn(bytes: Uint8Array, transactionId: string): Content | undefined {
  const read = contractTransaction(bytes);
  if (read?.transactionId !== transactionId) return undefined;
  const payload = common.Payload.deserializeBinary(common.Envelope.deserializeBinary(bytes).getPayload_asU8());
  const signature = common.SignatureHeader.deserializeBinary(payload.getHeader()!.getSignatureHeader_asU8());
  const [action] = peer.Transaction.deserializeBinary(payload.getData_asU8()).getActionsList();
  const endorsed = peer.ChaincodeActionPayload.deserializeBinary(action!.getPayload_asU8()).getAction();
  const { chaincode, call, writes } = read;
  return {
    transactionId,
    creator: readable(() => creatorOf(signature.getCreator_asU8())) ?? { mspId: '', subject: '' },
    endorsers: (endorsed?.getEndorsementsList() ?? []).flatMap(
      (endorsement) => readable(() => mspIdOf(endorsement.getEndorser_asU8())) ?? [],
    ),
    chaincode,
    function: (call[0]?.toString('utf8') ?? '').slice(0, FUNCTION_MAX_LENGTH),
    writes,
  };
}

const mspIdOf = (identity: Uint8Array): string => msp.SerializedIdentity.deserializeBinary(identity).getMspid();

function creatorOf(bytes: Uint8Array): Content['creator'] {
  const identity = msp.SerializedIdentity.deserializeBinary(bytes);
  const { subject } = new X509Certificate(Buffer.from(identity.getIdBytes_asU8()));
  return { mspId: identity.getMspid(), subject: subject.split('\n').join(', ') };
}
