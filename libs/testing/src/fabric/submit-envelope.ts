import { common, gateway } from '@hyperledger/fabric-protos';
import type { ChannelLedger } from './channel-ledger.ts';
import type { PeerParts } from './peer-parts.ts';
import { Code, RpcError } from './rpc-error.ts';
import { parseEnvelope } from './signed-request.ts';

type SubmitRequest = InstanceType<typeof gateway.SubmitRequest>;
type SignedCommitStatusRequest = InstanceType<typeof gateway.SignedCommitStatusRequest>;

/** Checks the envelope like an orderer and queues it; it is ordered when this returns. @throws RpcError */
export function submit({ members, ledgers, orderer, limits, detail }: PeerParts, request: SubmitRequest) {
  const envelope = request.getPreparedTransaction();
  if (envelope === undefined) {
    throw new RpcError({ code: Code.INVALID_ARGUMENT, message: 'a prepared transaction is required' });
  }
  const signature = envelope.getSignature_asU8();
  if (signature.length === 0) {
    throw new RpcError({ code: Code.INVALID_ARGUMENT, message: 'prepared transaction must be signed' });
  }
  const ledger = ledgers.get(request.getChannelId());
  if (ledger === undefined) {
    const message = `failed to get config for channel [${request.getChannelId()}]: no such channel`;
    throw new RpcError({ code: Code.FAILED_PRECONDITION, message });
  }
  if (orderer.isAway) {
    const details = [detail('connection refused')];
    throw new RpcError({
      code: Code.UNAVAILABLE,
      message: 'no orderers could successfully process transaction',
      details,
    });
  }
  const size = envelope.getPayload_asU8().length + signature.length;
  if (size > limits.absoluteMaxBytes) {
    throw ordererRefusal(
      'BAD_REQUEST',
      `message payload is ${size} bytes and exceeds maximum allowed ${limits.absoluteMaxBytes} bytes`,
    );
  }
  if (!isSignedByMember(members, envelope)) {
    throw ordererRefusal('FORBIDDEN', 'implicit policy evaluation failed: permission denied');
  }
  orderer.order(ledger, common.Envelope.deserializeBinary(envelope.serializeBinary()));
  return new gateway.SubmitResponse();
}

function ordererRefusal(status: 'BAD_REQUEST' | 'FORBIDDEN', info: string): RpcError {
  const message = `received unsuccessful response from orderer: status=${status}, info=${info}`;
  return new RpcError({ code: Code.ABORTED, message });
}

function isSignedByMember(members: PeerParts['members'], envelope: InstanceType<typeof common.Envelope>): boolean {
  const { creator } = parseEnvelope(envelope);
  return members.find(creator)?.signed(envelope.getPayload_asU8(), envelope.getSignature_asU8()) ?? false;
}

/** Waits until the transaction is in a block, the client's deadline passes, or it disconnects. */
export async function commitStatus(parts: PeerParts, request: SignedCommitStatusRequest, signal: AbortSignal) {
  const bytes = request.getRequest_asU8();
  const asked = gateway.CommitStatusRequest.deserializeBinary(bytes);
  const transactionId = asked.getTransactionId();
  if (!(parts.members.find(asked.getIdentity_asU8())?.signed(bytes, request.getSignature_asU8()) ?? false)) {
    const message = `failed evaluating policy on signed data during check policy on channel [${asked.getChannelId()}]: permission denied`;
    throw new RpcError({ code: Code.PERMISSION_DENIED, message });
  }
  const ledger = parts.ledgers.get(asked.getChannelId());
  if (ledger === undefined) {
    // The policy of a missing channel cannot be evaluated, so it is not satisfied.
    throw new RpcError({
      code: Code.PERMISSION_DENIED,
      message: `no policy manager for channel ${asked.getChannelId()}`,
    });
  }
  while (ledger.find(transactionId) === undefined) await nextBlock(ledger, signal);
  const { code, blockNumber } = ledger.find(transactionId)!;
  const response = new gateway.CommitStatusResponse();
  response.setResult((parts.faults.verdict('commitStatus', transactionId) ?? code) as 0);
  response.setBlockNumber(Number(blockNumber));
  return response;
}

/** Resolves at the next block; rejects if the caller disconnects. */
function nextBlock(ledger: ChannelLedger, signal: AbortSignal): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const done = () => {
      signal.removeEventListener('abort', gone);
      resolve();
    };
    const gone = () => {
      ledger.off('block', done);
      reject(new RpcError({ code: Code.CANCELLED, message: 'context canceled' }));
    };
    if (signal.aborted) return gone();
    signal.addEventListener('abort', gone, { once: true });
    ledger.once('block', done);
  });
}
