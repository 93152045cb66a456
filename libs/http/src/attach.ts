import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Pipelines } from './pipelines.ts';
import { expireBody, markAwaitingContinue } from './read-body.ts';

/** The status lines of what Node's parser refuses; everything else is a 400. */
const STATUS_LINES: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

export interface AttachOptions {
  /** Names and values of what every answer carries. */
  readonly constantHeaders: readonly string[];
  /** A client that takes nothing of its answers for so long is cut off. */
  readonly slowReaderMs: number;
}

/**
 * Lets an app answer what a plain request listener never sees: a body that takes too long gets its problem, 100 Continue
 * is sent only once a body is wanted, and the refusals of Node's parser carry the headers of every answer. It also bounds
 * what one connection may ask for without reading its answers.
 */
export function attach(server: Server, listener: RequestListener, options: AttachOptions): void {
  const { constantHeaders, slowReaderMs } = options;
  const refusal = (status: string) => `HTTP/1.1 ${status}\r\n${headerLines(constantHeaders)}\r\n`;
  const pipelines = new Pipelines(server, (request, response) => {
    if (hasHost(request)) listener(request, response);
    else response.writeHead(400, [...constantHeaders, ...LAST_AND_EMPTY]).end();
  });
  const take = (_request: IncomingMessage, response: ServerResponse) => pipelines.take(response);
  server.on('close', pipelines.watch(slowReaderMs));
  server.on('request', take);
  server.on('checkContinue', (request: IncomingMessage, response) => {
    markAwaitingContinue(request);
    pipelines.take(response);
  });
  // An Expect that Node does not know is refused by nobody: RFC 9110 section 10.1.1 lets a server ignore it.
  server.on('checkExpectation', take);
  server.on('upgrade', (request: IncomingMessage, _socket: Socket, rest: Buffer) => pipelines.stopped(request, rest));
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    socket.end(refusal('405 Method Not Allowed'));
    socket.destroySoon();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && expireBody(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    socket.end(refusal(STATUS_LINES.get(error.code ?? '') ?? '400 Bad Request'));
    socket.destroySoon();
  });
}

const LAST_AND_EMPTY = ['Content-Length', '0', 'Connection', 'close'] as const;

function headerLines(constantHeaders: readonly string[]): string {
  const list = [...constantHeaders, ...LAST_AND_EMPTY];
  let lines = '';
  for (let i = 0; i + 1 < list.length; i += 2) lines += `${list[i]}: ${list[i + 1]}\r\n`;
  return lines;
}

/** RFC 9112 section 3.2. Node would refuse it as well, but for as many requests at once as somebody likes to send. */
function hasHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host !== undefined || httpVersion !== '1.1';
}
