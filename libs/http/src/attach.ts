import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { expireBody, markAwaitingContinue } from './read-body.ts';

/** The status lines of what Node's parser refuses; everything else is a 400. */
const STATUS_LINES: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

/**
 * Lets an app answer what a plain request listener never sees: a body that takes too long gets its problem, 100 Continue
 * is sent only once a body is wanted, and the refusals of Node's parser carry the headers of every answer.
 */
export function attach(server: Server, listener: RequestListener, rawHeaderLines: string): void {
  server.on('request', listener);
  server.on('checkContinue', (request: IncomingMessage, response) => {
    markAwaitingContinue(request);
    listener(request, response);
  });
  // An Expect that Node does not know is refused by nobody: RFC 9110 section 10.1.1 lets a server ignore it.
  server.on('checkExpectation', listener);
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    socket.end(`HTTP/1.1 405 Method Not Allowed\r\n${rawHeaderLines}Content-Length: 0\r\nConnection: close\r\n\r\n`);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && expireBody(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = STATUS_LINES.get(error.code ?? '') ?? '400 Bad Request';
    socket.end(`HTTP/1.1 ${status}\r\n${rawHeaderLines}Content-Length: 0\r\nConnection: close\r\n\r\n`);
    socket.destroySoon();
  });
}
