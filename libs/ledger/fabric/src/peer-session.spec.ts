import {
  connect,
  createServer,
  type ClientHttp2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { status } from '@grpc/grpc-js';
import type { CallFailure } from './call-failure.ts';
import { GrpcConnection } from './grpc-connection.ts';

const METHOD = '/gateway.Gateway/Submit';
const WELL = Buffer.from([0, 0, 0, 0, 4, ...Buffer.from('well')]);
const opened: (() => void)[] = [];

afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

async function connectionTo(server: Pick<Server, 'listen' | 'close' | 'address'>): Promise<GrpcConnection> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const endpoint = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection = new GrpcConnection({ endpoint, answerMaxBytes: 1000 });
  opened.push(() => void server.close());
  opened.push(() => connection.close());
  return connection;
}

/** A peer of Node's that does with every call what `answer` does. */
async function peerThat(answer: (stream: ServerHttp2Stream) => void) {
  const server = createServer();
  const sessions: ServerHttp2Session[] = [];
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    answer(stream);
  });
  const connection = await connectionTo(server);
  opened.push(() => sessions.forEach((session) => session.destroy()));
  return { connection, sessions };
}

function well(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(WELL);
}

/** Frames of RFC 9113 section 6: their types and flags. */
const HEADERS = 1;
const RESET = 3;
const SETTINGS = 4;
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const FRAME_HEAD_BYTES = 9;
const PREFACE_BYTES = 24;
/** SETTINGS_INITIAL_WINDOW_SIZE of 0: who calls with a body waits. */
const NO_WINDOW = Buffer.of(0, 4, 0, 0, 0, 0);

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** `:status: 200` of HPACK's static table, and a literal that is not indexed (RFC 7541 sections 6.1 and 6.2.2). */
function headers(grpcStatus: string): Buffer {
  const [name, value] = [Buffer.from('grpc-status'), Buffer.from(grpcStatus)];
  return Buffer.concat([Buffer.of(0x88, 0, name.length), name, Buffer.of(value.length), value]);
}

/** A peer that writes its own frames: `onCall` for every call, and the codes of all calls that we cut. */
async function rawPeer(onCall: (socket: Socket, stream: number) => void) {
  const cut: number[] = [];
  const server = createTcpServer((socket) => {
    let received = Buffer.alloc(0);
    let at = PREFACE_BYTES;
    opened.push(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write(frame(SETTINGS, 0, 0, NO_WINDOW));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= at + FRAME_HEAD_BYTES) {
        const end = at + FRAME_HEAD_BYTES + received.readUIntBE(at, 3);
        if (received.length < end) return;
        const [type, stream] = [received[at + 3], received.readUInt32BE(at + 5)];
        if (type === SETTINGS && received[at + 4] !== ACK) socket.write(frame(SETTINGS, ACK, 0, Buffer.of()));
        if (type === RESET) cut.push(received.readUInt32BE(at + FRAME_HEAD_BYTES));
        if (type === HEADERS) onCall(socket, stream);
        at = end;
      }
    });
  });
  return { connection: await connectionTo(server), cut };
}

function failureOf(call: Promise<Buffer>): Promise<CallFailure> {
  return call.then(
    () => Promise.reject(new Error('It did not fail.')),
    (error: CallFailure) => error,
  );
}

/** Node has it, and its types do not. */
type NumberedSession = ClientHttp2Session & { setNextStreamID(id: number): void };

describe('a session to a gateway peer', () => {
  it('takes a status before the end of an answer for the word of nobody', async () => {
    const { connection } = await rawPeer((socket, stream) => {
      socket.write(frame(HEADERS, END_HEADERS, stream, headers('10')));
      socket.write(frame(RESET, 0, stream, Buffer.of(0, 0, 0, 2)));
    });
    expect((await failureOf(connection.call(METHOD, Buffer.of(), 5000))).code).toBe(status.INTERNAL);
  });

  it('cuts what it still sends when the answer is there', async () => {
    const { connection, cut } = await rawPeer((socket, stream) =>
      socket.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, headers('8'))),
    );
    for (let time = 1; time <= 3; time += 1) {
      const failure = await failureOf(connection.call(METHOD, Buffer.alloc(100_000), 5000));
      expect(failure.code).toBe(status.RESOURCE_EXHAUSTED);
    }
    for (let turns = 0; cut.length < 3 && turns < 200; turns += 1)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(cut).toEqual([8, 8, 8]);
  });

  it('gives way to a new one when it has used up its stream ids', async () => {
    const { connection, sessions } = await peerThat(well);
    const call = (): Promise<Buffer> => connection.call(METHOD, Buffer.of(), 5000);
    // The class of sessions is not exported.
    const other = connect('http://127.0.0.1:1').on('error', () => undefined);
    const request = jest.spyOn(Object.getPrototypeOf(other) as ClientHttp2Session, 'request');
    other.destroy();
    await call();
    (request.mock.contexts[0] as NumberedSession).setNextStreamID(2 ** 31 - 1);
    for (let time = 0; time < 3; time += 1) expect(String(await call())).toBe('well');
    expect(sessions).toHaveLength(2);
    request.mockRestore();
  });

  it('does not begin what has no time', async () => {
    const { connection, sessions } = await peerThat(well);
    for (const ms of [0, -1, Number.NaN]) {
      expect((await failureOf(connection.call(METHOD, Buffer.of(), ms))).code).toBe(status.DEADLINE_EXCEEDED);
    }
    expect(sessions).toHaveLength(0);
    expect(String(await connection.call(METHOD, Buffer.of(), Number.POSITIVE_INFINITY))).toBe('well');
  });

  it('ends while it connects', async () => {
    const { connection } = await peerThat(well);
    const call = failureOf(connection.call(METHOD, Buffer.of(), 5000));
    connection.close();
    expect((await call).code).toBe(status.UNAVAILABLE);
    // What is left of the connection comes up in these turns, and has nothing to say.
    await new Promise((resolve) => setTimeout(resolve, 50));
  });

  it('ends with its calls at a peer that is about to stop and stays', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    const { connection, sessions } = await peerThat(() => resolve());
    const call = failureOf(connection.call(METHOD, Buffer.of(), 60_000));
    await arrived;
    sessions[0]!.goaway();
    await new Promise((later) => setTimeout(later, 50));
    connection.close();
    expect((await call).code).toBe(status.UNAVAILABLE);
  });
});
