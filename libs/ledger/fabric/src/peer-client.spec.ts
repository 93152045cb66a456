import { createServer as createHttpServer } from 'node:http';
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { connect as connectTcp, createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { status, type Client, type ServiceError } from '@grpc/grpc-js';
import { connect, GatewayError, hash } from '@hyperledger/fabric-gateway';
import { gateway as protos, google } from '@hyperledger/fabric-protos';
import { peerClient } from './peer-client.ts';
import { END_HEADERS, HEADERS, headersOf, http2Frame, rawPeer, RESET } from './testing/raw-peer.ts';

const opened: (() => void)[] = [];

afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

const addressOf = (server: Server | Http2Server): string => `127.0.0.1:${(server.address() as AddressInfo).port}`;
const clientOf = (endpoint: string): Client => {
  const client = peerClient({ endpoint, serverNameOverride: undefined }, undefined);
  opened.push(() => client.close());
  return client;
};

/** A peer that runs `answer` for every call. */
async function peerThat(answer: (stream: ServerHttp2Stream, message: Buffer) => void) {
  const server = createServer();
  const sessions: ServerHttp2Session[] = [];
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => answer(stream, Buffer.concat(chunks)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  const endpoint = addressOf(server);
  return { client: clientOf(endpoint), sessions, endpoint };
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

function call(client: Client, message = Buffer.of(), withinMs = 5000): Promise<string> {
  const passThrough = (bytes: Buffer): Buffer => bytes;
  const options = { deadline: Date.now() + withinMs };
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest('/gateway.Gateway/Submit', passThrough, passThrough, message, options, (error, answer) =>
      error === null ? resolve(String(answer)) : reject(error),
    );
  });
}

/** @throws Error if it did not fail. */
const failureOf = (calling: Promise<unknown>): Promise<ServiceError> =>
  calling.then(
    () => Promise.reject(new Error('It did not fail.')),
    (error: ServiceError) => error,
  );

/** A peer's details about the endorsers behind it. */
function statusDetails(): Buffer {
  const detail = new protos.ErrorDetail();
  detail.setAddress('peer:7051');
  detail.setMspId('SouthMSP');
  detail.setMessage('chaincode response 500, no');
  const said = new google.rpc.Status();
  const any = said.addDetails();
  any.setTypeUrl('type.googleapis.com/gateway.ErrorDetail');
  any.setValue(detail.serializeBinary());
  return Buffer.from(said.serializeBinary());
}

/** Calls through the gateway client, like the driver. */
function evaluate(client: Client): Promise<unknown> {
  const gateway = connect({
    client,
    identity: { mspId: 'M', credentials: Buffer.from('c') },
    hash: hash.none,
    signer: () => Promise.resolve(Buffer.from('s')),
    evaluateOptions: () => ({ deadline: Date.now() + 5000 }),
  });
  return gateway.getNetwork('main').getContract('records').evaluateTransaction('read', 'a');
}

describe('calls to a gateway peer', () => {
  it('share one connection', async () => {
    const { client, sessions } = await peerThat((stream, message) =>
      end(stream, frame(`re: ${message.subarray(5).toString()}`)),
    );
    const calls = Array.from({ length: 50 }, (_, n) => call(client, Buffer.from(`m${n}`)));
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 50 }, (_, n) => `re: m${n}`));
    expect(sessions).toHaveLength(1);
  });

  it('are refused with code, message and details', async () => {
    const { client } = await peerThat((stream) =>
      refuse(stream, {
        'grpc-status': '10',
        'grpc-message': 'failed to endorse: 100%25 of peers, caf%C3%A9',
        'grpc-status-details-bin': statusDetails().toString('base64').replaceAll('=', ''),
      }),
    );
    const failure = await evaluate(client).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(GatewayError);
    expect(failure).toMatchObject({
      code: 10,
      message: 'failed to endorse: 100% of peers, café',
      details: [{ address: 'peer:7051', mspId: 'SouthMSP', message: 'chaincode response 500, no' }],
    });
  });

  it.each(['AAAA', Buffer.from('nonsense').toString('base64'), '%', `${statusDetails().toString('base64')}AAAA`])(
    'fail with code and message if the details %j cannot be parsed',
    async (details) => {
      const { client } = await peerThat((stream) =>
        end(stream, frame('half'), {
          'grpc-status': '9',
          'grpc-message': '100% of',
          'grpc-status-details-bin': details,
        }),
      );
      const failure = await evaluate(client).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 9, message: '100% of' });
    },
  );

  it.each([
    ['a compressed message', { 'grpc-status': '0' }, frame('a', 1)],
    ['half a message', { 'grpc-status': '0' }, frame('abc').subarray(0, 6)],
    ['no message', { 'grpc-status': '0' }, Buffer.of()],
    ['no known status', { 'grpc-status': 'x' }, frame('a')],
  ])('reject an answer with %s', async (_what, trailers, body) => {
    const { client } = await peerThat((stream) => end(stream, body, trailers));
    expect([status.UNKNOWN, status.INTERNAL]).toContain((await failureOf(call(client))).code);
  });

  it.each([
    [401, status.UNKNOWN],
    [403, status.UNKNOWN],
    [404, status.UNKNOWN],
    [418, status.UNKNOWN],
    [503, status.UNAVAILABLE],
  ])('do not take HTTP status %d of a proxy for a refusal of the peer: code %d', async (httpStatus, code) => {
    const { client } = await peerThat((stream) => stream.respond({ ':status': httpStatus }, { endStream: true }));
    expect((await failureOf(call(client))).code).toBe(code);
  });

  it.each([
    [8, status.CANCELLED],
    [11, status.RESOURCE_EXHAUSTED],
    [2, status.INTERNAL],
    [12, status.UNKNOWN],
  ])('map HTTP/2 error %d to code %d, and keep the connection', async (reset, code) => {
    let first = true;
    const { client, sessions } = await peerThat((stream) => {
      if (first) stream.close(reset);
      else end(stream, frame('well'));
      first = false;
    });
    expect((await failureOf(call(client))).code).toBe(code);
    expect(await call(client)).toBe('well');
    expect(sessions).toHaveLength(1);
  });

  it('end at the deadline, and are cancelled at the peer', async () => {
    const { promise: gaveUp, resolve } = Promise.withResolvers<number>();
    const { client } = await peerThat((stream) => stream.on('close', () => resolve(stream.rstCode)));
    expect((await failureOf(call(client, Buffer.of(), 100))).code).toBe(status.DEADLINE_EXCEEDED);
    expect(await gaveUp).toBe(8);
    const silent = createTcpServer((socket) => opened.push(() => socket.destroy()));
    await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening));
    opened.push(() => silent.close());
    const failure = await failureOf(call(clientOf(addressOf(silent)), Buffer.of(), 100));
    expect(failure.code).toBe(status.DEADLINE_EXCEEDED);
  });

  it('fail when the connection breaks, and the next one reconnects', async () => {
    let calls = 0;
    const { client, sessions } = await peerThat((stream) => {
      calls += 1;
      if (calls === 3) for (const session of sessions) session.socket.destroy();
      else if (calls > 3) end(stream, frame('again'));
    });
    const under = Array.from({ length: 3 }, () => failureOf(call(client)));
    for (const failure of await Promise.all(under)) expect(failure.code).toBe(status.UNAVAILABLE);
    expect(await call(client)).toBe('again');
    expect(sessions).toHaveLength(2);
  });

  it('complete at a peer that shuts down, and the next one takes a new connection', async () => {
    const held: ServerHttp2Stream[] = [];
    const { client, sessions } = await peerThat((stream) => {
      held.push(stream);
      if (held.length > 1) end(stream, frame('new'));
    });
    const first = call(client);
    while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    sessions[0]!.goaway();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await call(client)).toBe('new');
    expect(sessions).toHaveLength(2);
    end(held[0]!, frame('old'));
    expect(await first).toBe('old');
  });

  it('fail at once if nothing listens, and succeed once something does', async () => {
    const place = createTcpServer();
    await new Promise<void>((resolve) => place.listen(0, '127.0.0.1', resolve));
    const endpoint = addressOf(place);
    await new Promise((resolve) => place.close(resolve));
    const client = clientOf(endpoint);
    for (let time = 0; time < 3; time += 1) {
      const startedAt = performance.now();
      expect(await failureOf(call(client))).toMatchObject({
        code: status.UNAVAILABLE,
        message: expect.stringContaining('ECONNREFUSED'),
      });
      expect(performance.now() - startedAt).toBeLessThan(1000);
    }
    const server = createServer();
    server.on('stream', (stream) => end(stream, frame('here')));
    await new Promise<void>((resolve) => server.listen(Number(endpoint.split(':')[1]), '127.0.0.1', resolve));
    opened.push(() => server.close());
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await call(client)).toBe('here');
  });

  it('use the proxy of the environment, except for excluded hosts', async () => {
    const asked: string[] = [];
    const { client, endpoint } = await peerThat((stream) => end(stream, frame('well')));
    const proxy = createHttpServer();
    proxy.on('connect', ({ url = '' }, socket) => {
      asked.push(url);
      const onward = connectTcp(Number(url.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connected\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      opened.push(() => onward.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    opened.push(() => proxy.close());
    process.env['https_proxy'] = `http://${addressOf(proxy)}`;
    opened.push(
      () => void delete process.env['https_proxy'],
      () => void delete process.env['no_proxy'],
    );
    expect(await call(clientOf(endpoint))).toBe('well');
    expect(asked).toEqual([endpoint]);
    process.env['no_proxy'] = '127.0.0.1';
    expect(await call(clientOf(endpoint))).toBe('well');
    expect(await call(client)).toBe('well');
    expect(asked).toHaveLength(1);
  });

  it('are not refused by a status ahead of a truncated answer', async () => {
    const { endpoint } = await rawPeer((socket, stream) => {
      socket.write(http2Frame(HEADERS, END_HEADERS, stream, headersOf('10')));
      socket.write(http2Frame(RESET, 0, stream, Buffer.of(0, 0, 0, 2)));
    }, opened);
    expect((await failureOf(call(clientOf(endpoint)))).code).toBe(status.INTERNAL);
  });

  it("fail during and after the client's close", async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    const { client, sessions } = await peerThat(() => resolve());
    const under = failureOf(call(client, Buffer.of(), 500));
    await arrived;
    client.close();
    sessions[0]!.destroy();
    expect((await under).code).toBe(status.UNAVAILABLE);
    await expect(async () => call(client)).rejects.toThrow('Channel has been shut down');
  });
});
