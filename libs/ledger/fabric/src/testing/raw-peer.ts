import { createServer, type AddressInfo, type Socket } from 'node:net';

/** Frame types and flags of RFC 9113 section 6. */
export const HEADERS = 1;
export const RESET = 3;
const SETTINGS = 4;
export const END_HEADERS = 4;
const ACK = 1;
const FRAME_HEAD_BYTES = 9;
const PREFACE_BYTES = 24;

export function http2Frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** `:status: 200` of HPACK's static table, and a literal without indexing (RFC 7541 sections 6.1 and 6.2.2). */
export function headersOf(grpcStatus: string): Buffer {
  const [name, value] = [Buffer.from('grpc-status'), Buffer.from(grpcStatus)];
  return Buffer.concat([Buffer.of(0x88, 0, name.length), name, Buffer.of(value.length), value]);
}

/** A peer that writes raw frames: `onCall` runs for every call. `opened` collects what closes sockets and server. */
export async function rawPeer(
  onCall: (socket: Socket, stream: number) => void,
  opened: (() => void)[],
): Promise<{ endpoint: string }> {
  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    let at = PREFACE_BYTES;
    opened.push(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write(http2Frame(SETTINGS, 0, 0, Buffer.of()));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= at + FRAME_HEAD_BYTES) {
        const next = at + FRAME_HEAD_BYTES + received.readUIntBE(at, 3);
        if (received.length < next) return;
        const [type, stream] = [received[at + 3], received.readUInt32BE(at + 5)];
        if (type === SETTINGS && received[at + 4] !== ACK) socket.write(http2Frame(SETTINGS, ACK, 0, Buffer.of()));
        if (type === HEADERS) onCall(socket, stream);
        at = next;
      }
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  opened.push(() => void server.close());
  return { endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}
