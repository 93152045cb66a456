import type { AttestedCall, FabricProof, ProvedOnFabric } from '@sealgate/envelope';
import type { Attestation } from './attestation.ts';
import type { ChannelMap } from './channel-map.ts';
import type { ContractCall, FabricClient } from './fabric-client.ts';
import { ContractRefusedError, UnavailableError } from './fabric-errors.ts';
import { fabricReceiptOf, type ContractRecord } from './records-contract.ts';

/** Where a record of our contract is. */
export interface RecordPlace extends Pick<ContractCall, 'chaincode' | 'contract' | 'organizations' | 'identity'> {
  /** Ours: `<networkId>.<name>`. */
  readonly channel: string;
  readonly id: string;
}

/** Our channels, and the network that holds them. */
export interface ProvingNetwork {
  readonly client: Pick<FabricClient, 'attest' | 'evaluate'>;
  readonly channels: Pick<ChannelMap, 'of'>;
}

export interface ProvedContractRecord extends ProvedOnFabric {
  /** The record, as the contract returned it. */
  readonly answer: Buffer;
}

const QUERY_CHAINCODE = 'qscc';
/** Of a proof: it is one JSON document, and verifiers read 64 MiB. */
const PROOF_MAX_BYTES = 32 * 1024 * 1024;

/**
 * A proof of the newest version of a record, made now by the peers; nothing is submitted. Without `organizations`, those
 * sign that discovery chooses by the policy of the chaincode. Undefined: there is no such record.
 *
 * @throws as `FabricClient.attest`; UnavailableError also for a transaction that is too large for a proof;
 *   LedgerUnavailableError if no Fabric channel holds ours.
 */
export async function proveFabricRecord(
  { client, channels }: ProvingNetwork,
  { id, channel: ours, ...called }: RecordPlace,
  { withBlock = false }: { readonly withBlock?: boolean } = {},
): Promise<ProvedContractRecord | undefined> {
  const { chaincode, identity } = called;
  const place = channels.of(ours);
  const channel = place.fabricChannel;
  const read = { ...called, channel, transaction: 'read', args: [place.prefix + id] };
  const view = await client.attest(read, {
    mayBeOutdated: (answer) => answer instanceof ContractRefusedError || answer.length === 0,
  });
  if (view.result.length === 0) return undefined;
  const receipt = fabricReceiptOf(JSON.parse(view.result.toString('utf8')) as ContractRecord, ours, place);
  const { transactionId } = receipt;
  const organizations = [...new Set(view.responses.map(({ mspId }) => mspId))];
  const asked = { channel, chaincode: QUERY_CHAINCODE, args: [channel, transactionId], identity };
  const statement = await known(
    client.attest(
      { ...asked, transaction: 'GetTransactionByID', organizations },
      { mayBeOutdated: (answer) => answer instanceof ContractRefusedError },
    ),
  );
  checkSize([view, statement]);
  const block = withBlock
    ? await known(client.evaluate({ ...asked, transaction: 'GetBlockByTxID' })).then(boundedBlock)
    : undefined;
  const proof: FabricProof = {
    v: 1,
    kind: 'fabric',
    channel,
    chaincode,
    view: attestedCall(view),
    statement: { transactionId, ...attestedCall(statement) },
    ...(block === undefined ? {} : { block }),
  };
  return { receipt, proof, answer: view.result };
}

/** A peer that has the record has its transaction; another one that was asked may not have it yet. */
async function known<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ContractRefusedError)) throw error;
    throw new UnavailableError('A peer does not have the transaction of the record yet.', {
      cause: error,
      reason: 'peers_behind',
    });
  }
}

/** @throws UnavailableError */
function checkSize(attestations: readonly Attestation[]): void {
  let bytes = 0;
  for (const { proposal, responses } of attestations) {
    bytes += proposal.length;
    for (const { payload, endorsement } of responses) bytes += payload.length + endorsement.length;
  }
  if (bytes > PROOF_MAX_BYTES)
    throw new UnavailableError('The transaction of the record is too large for a proof.', { reason: 'call_refused' });
}

/** @throws UnavailableError */
function boundedBlock(block: Buffer): string {
  if (block.length > PROOF_MAX_BYTES)
    throw new UnavailableError('The block of the record is too large for a proof.', { reason: 'call_refused' });
  return block.toString('base64');
}

const attestedCall = ({ proposal, responses }: Attestation): AttestedCall => ({
  proposal: proposal.toString('base64'),
  responses: responses.map(({ mspId, payload, endorsement }) => ({
    mspId,
    payload: payload.toString('base64'),
    endorsement: endorsement.toString('base64'),
  })),
});
