import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import { common, orderer, peer } from '@hyperledger/fabric-protos';
import { codesOf, filteredBlock, transactionsIn, withCodes, type Block } from './blocks.ts';
import { startBlock } from './chaincode-events.ts';
import type { PeerParts } from './peer-parts.ts';
import { sendBlocks, struckStream } from './send-blocks.ts';
import { parseEnvelope, type ParsedEnvelope } from './signed-request.ts';

type Envelope = InstanceType<typeof common.Envelope>;
type DeliverResponse = InstanceType<typeof peer.DeliverResponse>;
type Stream = ServerDuplexStream<Envelope, DeliverResponse>;
type Fill = (response: DeliverResponse, channel: string, block: Block) => void;

const { SUCCESS, BAD_REQUEST, FORBIDDEN, NOT_FOUND } = common.Status;

/** Streams of committed blocks: whole, filtered, or with (always empty) private data. */
export function deliverService(parts: PeerParts, peerUrl: string) {
  return {
    deliver: streamOf(parts, peerUrl, (response, _channel, block) => response.setBlock(block)),
    deliverFiltered: streamOf(parts, peerUrl, (response, channel, block) =>
      response.setFilteredBlock(filteredBlock(channel, block)),
    ),
    deliverWithPrivateData: streamOf(parts, peerUrl, (response, _channel, block) => {
      const both = new peer.BlockAndPrivateData();
      both.setBlock(block);
      response.setBlockAndPrivateData(both);
    }),
  };
}

function streamOf(parts: PeerParts, peerUrl: string, fill: Fill): handleBidiStreamingCall<Envelope, DeliverResponse> {
  return (stream) => {
    // One request per stream, as Fabric's clients send.
    stream.once('data', (envelope: Envelope) => {
      const parsed = tryRead(() => parseEnvelope(envelope));
      if (parsed === undefined) return endWith(stream, BAD_REQUEST);
      const subject = { channel: parsed.channelHeader.getChannelId(), transactionId: '', chaincode: '' };
      struckStream(stream, parts.faults.strike({ kind: 'deliver', peer: peerUrl, ...subject }), () =>
        open(parts, stream, parsed, fill),
      );
    });
    stream.on('error', () => undefined); // The client disconnected.
  };
}

function open(
  parts: PeerParts,
  stream: Stream,
  { envelope, payload, channelHeader, creator }: ParsedEnvelope,
  fill: Fill,
): void {
  const channel = channelHeader.getChannelId();
  const ledger = parts.ledgers.get(channel);
  if (ledger === undefined) return endWith(stream, NOT_FOUND);
  const isSigned = parts.members.find(creator)?.signed(envelope.getPayload_asU8(), envelope.getSignature_asU8());
  if (isSigned !== true) return endWith(stream, FORBIDDEN);
  const seek = tryRead(() => orderer.SeekInfo.deserializeBinary(payload.getData_asU8()));
  if (seek === undefined) return endWith(stream, BAD_REQUEST);
  const from = startBlock(ledger, seek.getStart());
  const to = seek.getStop()?.getSpecified()?.getNumber() ?? ledger.height - 1;
  if (from < parts.snapshot.firstBlock) return endWith(stream, NOT_FOUND);
  if (to < from) return endWith(stream, BAD_REQUEST);
  sendBlocks(stream, {
    ledger,
    gate: parts.streams,
    from,
    to,
    send: (block) => {
      const response = new peer.DeliverResponse();
      fill(response, channel, misreported(parts, block));
      stream.write(response);
    },
    onLast: () => endWith(stream, SUCCESS),
  });
}

/** The block with the codes of injected verdicts. */
function misreported({ faults }: PeerParts, block: Block): Block {
  const codes = codesOf(block);
  const reported = transactionsIn(block).map(
    ({ transactionId }, place) => faults.verdict('blocks', transactionId) ?? codes[place]!,
  );
  return reported.every((code, place) => code === codes[place]) ? block : withCodes(block, Uint8Array.from(reported));
}

function endWith(
  stream: Stream,
  status: typeof SUCCESS | typeof BAD_REQUEST | typeof FORBIDDEN | typeof NOT_FOUND,
): void {
  const response = new peer.DeliverResponse();
  response.setStatus(status);
  stream.write(response);
  stream.end();
}

/** Undefined if protobuf cannot parse the message. */
function tryRead<Message>(read: () => Message): Message | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
