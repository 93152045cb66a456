import type { handleServerStreamingCall } from '@grpc/grpc-js';
import { gateway, orderer, peer } from '@hyperledger/fabric-protos';
import { codesOf, transactionsIn, type Block } from './blocks.ts';
import type { ChannelLedger } from './channel-ledger.ts';
import type { PeerParts } from './peer-parts.ts';
import { Code, RpcError, serviceError } from './rpc-error.ts';
import { sendBlocks, struckStream } from './send-blocks.ts';

type Request = InstanceType<typeof gateway.SignedChaincodeEventsRequest>;
type Answer = InstanceType<typeof gateway.ChaincodeEventsResponse>;
type Asked = InstanceType<typeof gateway.ChaincodeEventsRequest>;

/** Streams events of one chaincode from valid transactions, one message per block. */
export function chaincodeEvents(parts: PeerParts, peerUrl: string): handleServerStreamingCall<Request, Answer> {
  return (call) => {
    const asked = gateway.ChaincodeEventsRequest.deserializeBinary(call.request.getRequest_asU8());
    const subject = { channel: asked.getChannelId(), transactionId: '', chaincode: asked.getChaincodeId() };
    struckStream(call, parts.faults.strike({ kind: 'chaincodeEvents', peer: peerUrl, ...subject }), () => {
      try {
        const ledger = admit(parts, call.request, asked);
        const isAfter = passed(asked.getAfterTransactionId());
        sendBlocks(call, {
          ledger,
          gate: parts.streams,
          from: startOf(ledger, asked),
          to: Number.POSITIVE_INFINITY,
          send: (block) => {
            const answer = eventsIn(block, asked.getChaincodeId(), isAfter);
            if (answer !== undefined) call.write(answer);
          },
          onLast: () => call.end(),
        });
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        call.emit('error', serviceError(error.status));
      }
    });
  };
}

function admit({ members, ledgers }: PeerParts, request: Request, asked: Asked): ChannelLedger {
  const member = members.find(asked.getIdentity_asU8());
  if (!(member?.signed(request.getRequest_asU8(), request.getSignature_asU8()) ?? false)) {
    throw new RpcError({ code: Code.PERMISSION_DENIED, message: 'permission denied' });
  }
  const ledger = ledgers.get(asked.getChannelId());
  if (ledger !== undefined) return ledger;
  // The policy of a missing channel cannot be evaluated, so it is not satisfied.
  throw new RpcError({
    code: Code.PERMISSION_DENIED,
    message: `no policy manager for channel ${asked.getChannelId()}`,
  });
}

function startOf(ledger: ChannelLedger, asked: Asked): number {
  const after = ledger.find(asked.getAfterTransactionId());
  if (after !== undefined) return Number(after.blockNumber);
  return startBlock(ledger, asked.getStartPosition());
}

/** The block number of a position; without a position, the next block. */
export function startBlock(
  ledger: ChannelLedger,
  position: InstanceType<typeof orderer.SeekPosition> | undefined,
): number {
  const { TypeCase } = orderer.SeekPosition;
  switch (position?.getTypeCase()) {
    case TypeCase.SPECIFIED:
      return position.getSpecified()!.getNumber();
    case TypeCase.OLDEST:
      return 0;
    case TypeCase.NEWEST:
      return ledger.height - 1;
    default:
      return ledger.height;
  }
}

/** Returns a predicate that is true after the named transaction; without a name, always. */
function passed(transactionId: string): (current: string) => boolean {
  let isPassed = transactionId === '';
  return (current) => {
    if (isPassed) return true;
    isPassed = current === transactionId;
    return false;
  };
}

function eventsIn(block: Block, chaincode: string, isAfter: (id: string) => boolean): Answer | undefined {
  const answer = new gateway.ChaincodeEventsResponse();
  answer.setBlockNumber(block.getHeader()!.getNumber());
  const codes = codesOf(block);
  for (const [place, transaction] of transactionsIn(block).entries()) {
    if (codes[place] !== peer.TxValidationCode.VALID) continue;
    const event = transaction.event();
    if (event !== undefined && isAfter(event.getTxId()) && event.getChaincodeId() === chaincode)
      answer.addEvents(event);
  }
  return answer.getEventsList().length === 0 ? undefined : answer;
}
