import type { handleServerStreamingCall } from '@grpc/grpc-js';
import { gateway, orderer, peer } from '@hyperledger/fabric-protos';
import { codesOf, transactionsIn, type Block } from './blocks.ts';
import type { ChannelLedger } from './channel-ledger.ts';
import type { PeerParts } from './peer-parts.ts';
import { Code, RpcError, serviceError } from './rpc-error.ts';
import { sendBlocks } from './send-blocks.ts';
import { struckStream } from './struck-stream.ts';

type Request = InstanceType<typeof gateway.SignedChaincodeEventsRequest>;
type Answer = InstanceType<typeof gateway.ChaincodeEventsResponse>;
type Asked = InstanceType<typeof gateway.ChaincodeEventsRequest>;

/** Events of one chaincode, of valid transactions alone, a block at a time. */
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
  // The policy of a channel that is not there cannot be asked, and is not met.
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

/** The number of the block a position names; the next one to come where it names none. */
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

/** Whether the transactions up to the named one have gone by; without a name, all have. */
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
