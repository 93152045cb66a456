import { connect, type Socket } from 'node:net';
import type { Destination } from './load-plan.ts';
import type { RequestSource } from './request-list.ts';
import type { ResponseReader } from './response-reader.ts';

const connectWithinMs = 5_000;
const readBytes = 65_536;
/** How long a connection stays away from its own server, as a load balancer that looks once a second. */
const awayMs = 1_000;
/** A pause after each of the servers has refused a connection. */
const retryMs = 20;

interface ConnectionOptions {
  readonly destination: Pick<Destination, 'port' | 'alsoAt'>;
  readonly requests: RequestSource;
  readonly reader: ResponseReader;
  /** An answer has ended. */
  readonly answered: (reader: ResponseReader, latencyMs: number) => void;
  /** The next request may be sent; called after `answered`. */
  readonly free: (connection: Connection) => void;
  /** The request in flight has no answer. */
  readonly lost: (problem: string) => void;
}

/**
 * A connection with one request in flight. Where its destination has further servers it does what a load balancer does:
 * it leaves a server that announces the end of the connection, and comes back a while later.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #ports: readonly number[];
  /** The place of the server in use; the first is its own. */
  #at = 0;
  #leftAt = 0;
  #socket: Socket | undefined;
  #sentAt = 0;
  #isWaiting = false;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { port, alsoAt = [] } = options.destination;
    this.#ports = [port, ...alsoAt];
  }

  get destroyed(): boolean {
    return this.#socket?.destroyed !== false;
  }

  /** Connects to its own server. Rejects when that cannot be reached. */
  open(): Promise<void> {
    return this.#connect();
  }

  /** Sends the next request; its latency counts from `dueAt`. */
  send(dueAt: number): void {
    this.#isWaiting = true;
    this.#sentAt = dueAt;
    this.#socket?.write(this.#options.requests.next());
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  #connect(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onBytes = (length: number, buffer: Uint8Array): boolean => {
      // Already given up: the socket is being destroyed.
      if (this.#isWaiting) this.#take(socket, Buffer.from(buffer.buffer, buffer.byteOffset, length));
      return true;
    };
    const socket = connect({
      port: this.#ports[this.#at]!,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: Buffer.allocUnsafe(readBytes), callback: onBytes },
    });
    let problem = 'The server closed the connection.';
    socket.setTimeout(connectWithinMs, () => socket.connecting && socket.destroy(new Error('No connection in time.')));
    socket.once('connect', resolve);
    socket.on('error', (error) => {
      problem = error.message;
      reject(error); // Matters only before it is connected.
    });
    socket.on('close', () => {
      if (!this.#isWaiting || this.#socket !== socket) return;
      this.#isWaiting = false;
      this.#options.lost(problem);
    });
    this.#socket = socket;
    return promise;
  }

  #take(socket: Socket, bytes: Buffer): void {
    const { reader, answered, free } = this.#options;
    if (!this.#ends(reader, socket, bytes)) return;
    this.#isWaiting = false;
    answered(reader, performance.now() - this.#sentAt);
    if (this.#isToMove(reader)) void this.#move(reader.closes);
    else free(this);
  }

  #ends(reader: ResponseReader, socket: Socket, bytes: Buffer): boolean {
    try {
      return reader.take(bytes);
    } catch (error) {
      socket.destroy(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
  }

  #isToMove(reader: ResponseReader): boolean {
    if (this.#ports.length === 1) return false;
    return reader.closes || (this.#at !== 0 && performance.now() - this.#leftAt > awayMs);
  }

  /** To the next server that takes connections; `leaves`: not to the one in use. */
  async #move(leaves: boolean): Promise<void> {
    this.#socket?.destroy();
    if (leaves) this.#at = (this.#at + 1) % this.#ports.length;
    else this.#at = 0;
    for (let refused = 0; !this.#isClosed; refused += 1) {
      try {
        await this.#connect();
        break;
      } catch {
        this.#at = (this.#at + 1) % this.#ports.length;
        if (refused % this.#ports.length === this.#ports.length - 1)
          await new Promise((done) => setTimeout(done, retryMs));
      }
    }
    this.#leftAt = performance.now();
    if (!this.#isClosed) this.#options.free(this);
  }
}
