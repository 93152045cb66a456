import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { status } from '@grpc/grpc-js';
import { gateway as protos, google } from '@hyperledger/fabric-protos';
import { CallFailure } from './call-failure.ts';
import { GrpcConnection } from './grpc-connection.ts';

const METHOD = '/gateway.Gateway/Endorse';
const ANSWER_MAX_BYTES = 100_000;
const opened: (() => void)[] = [];

afterEach(() => {
  for (const close of opened.splice(0)) close();
});

const addressOf = (server: Server | Http2Server): string => `127.0.0.1:${(server.address() as AddressInfo).port}`;

interface TestServer {
  readonly connection: GrpcConnection;
  readonly sessions: ServerHttp2Session[];
  readonly server: Http2Server;
}

/** A peer that does with every call what `answer` does. */
async function peerThat(
  answer: (stream: ServerHttp2Stream, message: Buffer, headers: Record<string, unknown>) => void,
): Promise<TestServer> {
  const server = createServer();
  const sessions: ServerHttp2Session[] = [];
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => answer(stream, Buffer.concat(chunks), headers));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const connection = new GrpcConnection({ endpoint: addressOf(server), answerMaxBytes: ANSWER_MAX_BYTES });
  opened.push(() => {
    connection.close();
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { connection, sessions, server };
}

function frame(message: string, compressed = 0): Buffer {
  const bytes = Buffer.from(message);
  const head = Buffer.from([compressed, 0, 0, 0, 0]);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

function end(stream: ServerHttp2Stream, body: Buffer, trailers: Record<string, string> = { 'grpc-status': '0' }): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end(body);
}

const refuse = (stream: ServerHttp2Stream, trailers: Record<string, string>): void =>
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...trailers }, { endStream: true });

/** @throws Error where it did not fail. */
async function failureOf(call: Promise<Buffer>): Promise<CallFailure> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(CallFailure);
  return failure as CallFailure;
}

describe('a connection to a gateway peer', () => {
  it('brings a message there and one back, many at once over one connection', async () => {
    const seen: Record<string, unknown>[] = [];
    const { connection, sessions } = await peerThat((stream, message, headers) => {
      seen.push(headers);
      end(stream, frame(`re: ${message.subarray(5).toString()}`));
    });
    const calls = Array.from({ length: 50 }, (_, n) => connection.call(METHOD, Buffer.from(`m${n}`), 5000));
    expect((await Promise.all(calls)).map(String)).toEqual(Array.from({ length: 50 }, (_, n) => `re: m${n}`));
    expect(sessions).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      ':method': 'POST',
      ':path': METHOD,
      'content-type': 'application/grpc',
      'grpc-timeout': '5000m',
      te: 'trailers',
    });
  });

  it('takes an answer in pieces, and an empty one', async () => {
    const { connection } = await peerThat((stream, message) => {
      const body = frame(message.subarray(5).toString());
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.write(body.subarray(0, 3));
      setImmediate(() => stream.end(body.subarray(3)));
    });
    expect(String(await connection.call(METHOD, Buffer.from('x'.repeat(50_000)), 5000))).toHaveLength(50_000);
    expect(await connection.call(METHOD, Buffer.of(), 5000)).toHaveLength(0);
  });

  it('passes on a refusal: its code, its words, and what stood behind it', async () => {
    const detail = new protos.ErrorDetail();
    detail.setAddress('peer:7051');
    detail.setMspId('SouthMSP');
    detail.setMessage('chaincode response 500, no');
    const said = new google.rpc.Status();
    const any = said.addDetails();
    any.setTypeUrl('type.googleapis.com/gateway.ErrorDetail');
    any.setValue(detail.serializeBinary());
    const { connection } = await peerThat((stream) =>
      refuse(stream, {
        'grpc-status': '10',
        'grpc-message': 'failed to endorse: 100%25 of peers, caf%C3%A9',
        'grpc-status-details-bin': Buffer.from(said.serializeBinary()).toString('base64').replaceAll('=', ''),
      }),
    );
    const failure = await failureOf(connection.call(METHOD, Buffer.of(), 5000));
    expect(failure.code).toBe(10);
    expect(failure.message).toBe('failed to endorse: 100% of peers, café');
    expect(failure.metadata.get('grpc-status-details-bin')).toEqual([Buffer.from(said.serializeBinary())]);
  });

  it('passes on a refusal after a message, and one whose words cannot be read', async () => {
    const { connection } = await peerThat((stream) =>
      end(stream, frame('half'), { 'grpc-status': '9', 'grpc-message': '100% of', 'grpc-status-details-bin': 'AAAA' }),
    );
    const failure = await failureOf(connection.call(METHOD, Buffer.of(), 5000));
    expect(failure).toMatchObject({ code: 9, message: '100% of' });
    expect(failure.metadata.getMap()).toEqual({});
  });

  it.each([
    ['no known status', { 'grpc-status': 'x' }, frame('a'), status.UNKNOWN],
    ['a compressed message', { 'grpc-status': '0' }, frame('a', 1), status.INTERNAL],
    ['half a message', { 'grpc-status': '0' }, frame('abc').subarray(0, 6), status.INTERNAL],
    ['two messages', { 'grpc-status': '0' }, Buffer.concat([frame('a'), frame('b')]), status.INTERNAL],
    ['no message', { 'grpc-status': '0' }, Buffer.of(), status.INTERNAL],
    ['too large a message', { 'grpc-status': '0' }, frame('x'.repeat(ANSWER_MAX_BYTES + 1)), status.RESOURCE_EXHAUSTED],
  ])('takes no answer that has %s', async (_what, trailers, body, code) => {
    const { connection } = await peerThat((stream) => end(stream, body, trailers));
    expect((await failureOf(connection.call(METHOD, Buffer.of(), 5000))).code).toBe(code);
  });

  it.each([
    [404, status.UNKNOWN],
    [503, status.UNAVAILABLE],
    [403, status.UNKNOWN],
    [418, status.UNKNOWN],
  ])('reads HTTP status %d of a proxy as code %d', async (status, code) => {
    const { connection } = await peerThat((stream) => stream.respond({ ':status': status }, { endStream: true }));
    expect((await failureOf(connection.call(METHOD, Buffer.of(), 5000))).code).toBe(code);
  });

  it.each([
    [7, status.UNAVAILABLE],
    [8, status.CANCELLED],
    [11, status.RESOURCE_EXHAUSTED],
    [2, status.INTERNAL],
  ])('reads HTTP/2 error %d as code %d, and goes on over the same connection', async (reset, code) => {
    let first = true;
    const { connection, sessions } = await peerThat((stream) => {
      if (first) stream.close(reset);
      else end(stream, frame('well'));
      first = false;
    });
    expect((await failureOf(connection.call(METHOD, Buffer.of(), 5000))).code).toBe(code);
    expect(String(await connection.call(METHOD, Buffer.of(), 5000))).toBe('well');
    expect(sessions).toHaveLength(1);
  });

  it('gives up at the deadline, and tells the peer', async () => {
    const { promise: gaveUp, resolve } = Promise.withResolvers<number>();
    const { connection } = await peerThat((stream) => stream.on('close', () => resolve(stream.rstCode)));
    const startedAt = performance.now();
    const failure = await failureOf(connection.call(METHOD, Buffer.of(), 100));
    expect(failure.code).toBe(status.DEADLINE_EXCEEDED);
    expect(performance.now() - startedAt).toBeGreaterThan(90);
    expect(await gaveUp).toBe(8);
  });

  it('fails what is under way when the connection breaks, and makes a new one for the next call', async () => {
    let calls = 0;
    const { connection, sessions } = await peerThat((stream) => {
      calls += 1;
      if (calls === 3) for (const session of sessions) session.socket.destroy();
      else if (calls > 3) end(stream, frame('again'));
    });
    const under = Array.from({ length: 3 }, () => failureOf(connection.call(METHOD, Buffer.of(), 5000)));
    for (const failure of await Promise.all(under)) expect(failure.code).toBe(status.UNAVAILABLE);
    expect(String(await connection.call(METHOD, Buffer.of(), 5000))).toBe('again');
    expect(sessions).toHaveLength(2);
  });

  it('lets calls under way end at a peer that is about to stop, and takes a new connection for the next', async () => {
    const held: ServerHttp2Stream[] = [];
    const { connection, sessions } = await peerThat((stream) => {
      held.push(stream);
      if (held.length > 1) end(stream, frame('new'));
    });
    const first = connection.call(METHOD, Buffer.of(), 5000);
    while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    sessions[0]!.goaway();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(String(await connection.call(METHOD, Buffer.of(), 5000))).toBe('new');
    expect(sessions).toHaveLength(2);
    end(held[0]!, frame('old'));
    expect(String(await first)).toBe('old');
  });

  it('fails at once where nobody listens, and heals when somebody does', async () => {
    const place = createTcpServer();
    await new Promise<void>((resolve) => place.listen(0, '127.0.0.1', resolve));
    const endpoint = addressOf(place);
    await new Promise((resolve) => place.close(resolve));
    const connection = new GrpcConnection({ endpoint, answerMaxBytes: ANSWER_MAX_BYTES });
    opened.push(() => connection.close());
    for (let time = 0; time < 3; time += 1) {
      const startedAt = performance.now();
      const failure = await failureOf(connection.call(METHOD, Buffer.of(), 5000));
      expect(failure).toMatchObject({ code: status.UNAVAILABLE, message: expect.stringContaining('ECONNREFUSED') });
      expect(performance.now() - startedAt).toBeLessThan(1000);
    }
    const server = createServer();
    server.on('stream', (stream) => end(stream, frame('here')));
    await new Promise<void>((resolve) => server.listen(Number(endpoint.split(':')[1]), '127.0.0.1', resolve));
    opened.push(() => server.close());
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(String(await connection.call(METHOD, Buffer.of(), 5000))).toBe('here');
  });

  it('keeps the deadline where somebody listens and says nothing', async () => {
    const silent = createTcpServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    opened.push(() => silent.close());
    const connection = new GrpcConnection({ endpoint: addressOf(silent), answerMaxBytes: ANSWER_MAX_BYTES });
    opened.push(() => connection.close());
    const failure = await failureOf(connection.call(METHOD, Buffer.of(), 100));
    expect(failure.code).toBe(status.DEADLINE_EXCEEDED);
  });

  it('fails calls at and after its end', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    const { connection } = await peerThat(() => resolve());
    const call = failureOf(connection.call(METHOD, Buffer.of(), 5000));
    await arrived;
    connection.close();
    expect((await call).code).toBe(status.UNAVAILABLE);
    expect((await failureOf(connection.call(METHOD, Buffer.of(), 5000))).code).toBe(status.UNAVAILABLE);
  });
});
