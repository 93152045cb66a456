import { gateway, peer } from '@hyperledger/fabric-protos';
import type { Execution } from './chaincode-process.ts';
import { endorsedTransaction } from './endorser.ts';
import type { PeerParts } from './peer-parts.ts';
import { Code, RpcError } from './rpc-error.ts';
import { expectedTransactionId, type ParsedProposal } from './signed-request.ts';
import { Simulation } from './simulation.ts';
import { isSystemChaincode, systemExecution } from './system-chaincodes.ts';

const EVALUATE_FAILED = 'failed to evaluate transaction, see attached details for more info';
const ENDORSE_FAILED = 'failed to endorse transaction, see attached details for more info';

/** Simulates a proposal at a peer of one of the organisations, if any are named. @throws RpcError */
export async function evaluate(parts: PeerParts, proposal: ParsedProposal, organizations: readonly string[]) {
  const { channel, chaincode } = proposal;
  if (!parts.ledgers.has(channel)) {
    const message = `failed to get config for channel [${channel}]: could not get last config for channel ${channel}`;
    throw new RpcError({ code: Code.UNAVAILABLE, message });
  }
  const isSystem = isSystemChaincode(chaincode);
  const isAnybodyThere = organizations.length === 0 || organizations.some((mspId) => parts.endorsers.has(mspId));
  if (!isAnybodyThere || (!isSystem && !parts.isDefined(chaincode, channel))) {
    const message = `no peers available to evaluate chaincode ${chaincode} in channel ${channel}`;
    throw new RpcError({ code: Code.FAILED_PRECONDITION, message });
  }
  const fault = proposalFault(parts, proposal);
  if (fault !== undefined) {
    const message = `evaluate call to endorser returned error: ${fault}`;
    throw new RpcError({ code: Code.FAILED_PRECONDITION, message, details: [parts.detail(fault)] });
  }
  const execution = isSystem
    ? systemExecution(parts, proposal)
    : (await simulate(parts, proposal, EVALUATE_FAILED)).execution;
  if (refuses(execution)) {
    const text = refusalText(execution);
    const message = `evaluate call to endorser returned error: ${text}`;
    throw new RpcError({ code: Code.UNKNOWN, message, details: [parts.detail(text)] });
  }
  const result = new peer.Response();
  result.setStatus(execution.status);
  result.setMessage(execution.message);
  result.setPayload(execution.payload);
  const response = new gateway.EvaluateResponse();
  response.setResult(result);
  return response;
}

/**
 * Simulates a proposal and returns the transaction for the client to sign, endorsed by a peer of each organisation that
 * the client names. @throws RpcError
 */
export async function endorse(parts: PeerParts, proposal: ParsedProposal, organizations: readonly string[]) {
  const { channel, chaincode } = proposal;
  // No policy is known of a system chaincode, so the client must name the organisations.
  const isSystem = isSystemChaincode(chaincode) && organizations.length > 0;
  if (!parts.ledgers.has(channel) || (!isSystem && !parts.isDefined(chaincode, channel))) {
    const message = `no combination of peers can be derived which satisfy the endorsement policy: No metadata was found for chaincode ${chaincode} in channel ${channel}`;
    throw new RpcError({ code: Code.FAILED_PRECONDITION, message });
  }
  const unknown = organizations.filter((mspId) => !parts.endorsers.has(mspId));
  if (unknown.length > 0) {
    const message = `failed to find any endorsing peers for org(s): ${unknown.join(', ')}`;
    throw new RpcError({ code: Code.UNAVAILABLE, message });
  }
  const fault = proposalFault(parts, proposal);
  if (fault !== undefined) throw endorseFailed(parts, fault);
  const [own] = parts.endorsers.values();
  const named = organizations.map((mspId) => parts.endorsers.get(mspId)!);
  const prepared = (simulated: Parameters<typeof endorsedTransaction>[1]) => {
    if (refuses(simulated.execution)) throw endorseFailed(parts, refusalText(simulated.execution));
    const response = new gateway.EndorseResponse();
    response.setPreparedTransaction(endorsedTransaction(proposal, simulated, named.length === 0 ? [own!] : named));
    return response;
  };
  // System chaincodes read the ledger without a simulation, so there is no read-write set.
  if (isSystem) return prepared({ execution: systemExecution(parts, proposal), readWriteSet: new Uint8Array() });
  const ledger = parts.ledgers.get(channel)!;
  const { execution, simulation } = await simulate(parts, proposal, ENDORSE_FAILED);
  if (refuses(execution)) throw endorseFailed(parts, refusalText(execution));
  ledger.keepPrivate(
    proposal.transactionId,
    simulation.privateWrites.map(({ collection, ...write }) => ({
      namespace: namespaceOf(chaincode, collection),
      ...write,
    })),
  );
  return prepared({ execution, readWriteSet: simulation.readWriteSet() });
}

const namespaceOf = (chaincode: string, collection: string) => `${chaincode}$$p${collection}`;

function endorseFailed(parts: PeerParts, text: string): RpcError {
  return new RpcError({ code: Code.ABORTED, message: ENDORSE_FAILED, details: [parts.detail(text)] });
}

const refuses = ({ status }: Execution) => status < 200 || status >= 400;

const refusalText = ({ status, message }: Execution) => `chaincode response ${status}, ${message}`;

/** Checks before simulation: signature, transaction id, and that the transaction is new. */
function proposalFault({ members, ledgers }: PeerParts, proposal: ParsedProposal): string | undefined {
  const { signed, signatureHeader, channel, transactionId } = proposal;
  const creator = signatureHeader.getCreator_asU8();
  const expected = expectedTransactionId(signatureHeader);
  if (transactionId !== expected) {
    return `error validating proposal: incorrectly computed txid '${transactionId}' -- expected '${expected}'`;
  }
  const mspId = members.claimedMspId(creator);
  if (mspId === undefined) {
    return `error validating proposal: access denied: channel [${channel}] creator org unknown, creator is malformed`;
  }
  const member = members.find(creator);
  if (member === undefined || !member.signed(signed.getProposalBytes_asU8(), signed.getSignature_asU8())) {
    return `error validating proposal: access denied: channel [${channel}] creator org [${mspId}]`;
  }
  if (ledgers.get(channel)!.find(transactionId) !== undefined) {
    return `duplicate transaction found [${transactionId}]. Creator [${Buffer.from(creator).toString('hex')}]`;
  }
  return undefined;
}

async function simulate(parts: PeerParts, proposal: ParsedProposal, failed: string) {
  const { channel, chaincode, transactionId, input, signed } = proposal;
  const ledger = parts.ledgers.get(channel)!;
  const collectionState = (collection: string) =>
    parts.hasCollection(chaincode, collection) ? ledger.state(namespaceOf(chaincode, collection)) : undefined;
  const state = { namespace: chaincode, state: ledger.state(chaincode), collectionState };
  const simulation = new Simulation(state, parts.heightOf(ledger), transactionId);
  try {
    const invocation = { channel, transactionId, input, proposal: signed, simulation };
    return { execution: await parts.chaincodes.get(chaincode)!.execute(invocation), simulation };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const text = `error in simulation: failed to execute transaction ${transactionId}: ${reason}`;
    throw new RpcError({ code: Code.ABORTED, message: failed, details: [parts.detail(text)] });
  }
}

/**
 * A proposal to this very peer, not to a gateway. As on a peer, the response says whether it was accepted; the stand-in
 * supports system chaincodes only. @throws RpcError
 */
export function processProposal(parts: PeerParts, proposal: ParsedProposal) {
  const fault = proposalFault(parts, proposal);
  if (fault !== undefined || !isSystemChaincode(proposal.chaincode)) {
    throw new RpcError({
      code: Code.UNKNOWN,
      message: fault ?? `chaincode ${proposal.chaincode} is not supported here`,
    });
  }
  const { status, message, payload } = systemExecution(parts, proposal);
  const answer = new peer.Response();
  answer.setStatus(status);
  answer.setMessage(message);
  answer.setPayload(payload);
  const response = new peer.ProposalResponse();
  response.setResponse(answer);
  return response;
}
