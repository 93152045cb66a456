import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';

const CANCEL_REQUEST_CODE = 80_877_102;
const SSL_REQUEST_CODE = 80_877_103;

/** Where a statement runs, as the server named it when the connection was made. */
export interface CancelTarget {
  readonly host: string;
  readonly port: number;
  readonly ssl: boolean | ConnectionOptions;
  readonly processId: number;
  readonly secretKey: number;
}

/**
 * Asks the server to give up what a connection is doing (PostgreSQL protocol, "Canceling Requests in Progress").
 * Closing the connection is not enough: a server that waits for a lock does not look at its socket, so each deadline
 * passed would leave one more server process behind. Best effort: nothing is thrown, and it is over after `timeoutMs`.
 */
export function requestCancel(target: CancelTarget, timeoutMs: number): void {
  const { host, port } = target;
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.on('error', () => socket.destroy());
  setTimeout(() => socket.destroy(), timeoutMs).unref();
  socket.once('connect', () => {
    if (target.ssl === false) sendCancel(socket, target);
    else upgrade(socket, target);
  });
}

function upgrade(socket: Socket, target: CancelTarget): void {
  socket.write(message(SSL_REQUEST_CODE));
  socket.once('data', (answer) => {
    if (answer.toString('latin1') !== 'S') return socket.destroy();
    const secure = connectTls({ ...(target.ssl === true ? {} : target.ssl), socket, host: target.host });
    secure.on('error', () => socket.destroy());
    secure.once('secureConnect', () => sendCancel(secure, target));
    return socket;
  });
}

function sendCancel(socket: Socket, target: CancelTarget): void {
  socket.end(message(CANCEL_REQUEST_CODE, target.processId, target.secretKey));
}

/** A start-up message: its own length, then 32-bit numbers. */
function message(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(4 * (numbers.length + 1));
  bytes.writeInt32BE(bytes.length);
  numbers.forEach((number, index) => bytes.writeInt32BE(number, 4 * (index + 1)));
  return bytes;
}
