import type { Attestation } from './attestation.ts';
import type { ContractCall, FabricClient } from './fabric-client.ts';
import { ContractRefusedError, UnavailableError } from './fabric-errors.ts';
import type { ContractRecord } from './records-contract.ts';

/** Where a record of our contract is. Fabric's own names. */
export interface RecordPlace extends Pick<
  ContractCall,
  'channel' | 'chaincode' | 'contract' | 'organizations' | 'identity'
> {
  /** As the contract knows it, with the prefix of a shared channel. */
  readonly id: string;
}

/** A call and what the peers signed about it; binary members are base64. */
export interface AttestedCall {
  /** A `SignedProposal`. */
  readonly proposal: string;
  /** A `ProposalResponsePayload` and an `Endorsement` each. */
  readonly responses: {
    readonly mspId: string;
    readonly payload: string;
    readonly endorsement: string;
  }[];
}

/**
 * What peers signed about a record: that the contract answers it (`view`), and that the transaction that wrote it is in
 * the channel, with its validation code (`statement`). `npx sealgate-verify fabric` checks it.
 */
export interface FabricProof {
  readonly v: 1;
  readonly kind: 'fabric';
  readonly channel: string;
  readonly chaincode: string;
  readonly view: AttestedCall;
  readonly statement: AttestedCall & { readonly transactionId: string };
  /** The whole block of the transaction, if it was asked for: with everything else that is in it. */
  readonly block?: string;
}

export interface ProvedRecord {
  readonly record: ContractRecord;
  /** The record, as the contract returned it. */
  readonly answer: Buffer;
  readonly proof: FabricProof;
}

const QUERY_CHAINCODE = 'qscc';
/** Of a proof: it is one JSON document, and verifiers read 64 MiB. */
const PROOF_MAX_BYTES = 32 * 1024 * 1024;

/**
 * A proof of the newest version of a record, made now by the peers; nothing is submitted. Without `organizations`, those
 * sign that discovery chooses by the policy of the chaincode. Undefined: there is no such record.
 *
 * @throws as `FabricClient.attest`; UnavailableError also for a transaction that is too large for a proof.
 */
export async function proveFabricRecord(
  client: Pick<FabricClient, 'attest' | 'evaluate'>,
  { id, ...place }: RecordPlace,
  { withBlock = false }: { readonly withBlock?: boolean } = {},
): Promise<ProvedRecord | undefined> {
  const { channel, chaincode, identity } = place;
  const read = { ...place, transaction: 'read', args: [id] };
  const view = await client.attest(read, {
    mayBeOutdated: (answer) => answer instanceof ContractRefusedError || answer.length === 0,
  });
  if (view.result.length === 0) return undefined;
  const record = JSON.parse(view.result.toString('utf8')) as ContractRecord;
  const { transactionId } = record;
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
  return {
    record,
    answer: view.result,
    proof: {
      v: 1,
      kind: 'fabric',
      channel,
      chaincode,
      view: attestedCall(view),
      statement: { transactionId, ...attestedCall(statement) },
      ...(block === undefined ? {} : { block }),
    },
  };
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
