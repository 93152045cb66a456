import { Server, type ServerCredentials } from '@grpc/grpc-js';
import { gateway, peer } from '@hyperledger/fabric-protos';
import { CallRunner } from './call-runner.ts';
import { deliverService } from './deliver-service.ts';
import { endorserService, gatewayService } from './gateway-service.ts';
import type { PeerParts } from './peer-parts.ts';
import { until } from '../until.ts';

const HUNDRED_MEBIBYTES = 100 * 1024 * 1024;

/** The gRPC server: a new one per start, on the port of the first. */
export class PeerListener {
  readonly #parts: PeerParts;
  readonly #concurrencyLimit: number;
  readonly #credentials: ServerCredentials;
  #server: Server | undefined;
  #port = 0;

  constructor(parts: PeerParts, concurrencyLimit: number, credentials: ServerCredentials) {
    this.#parts = parts;
    this.#concurrencyLimit = concurrencyLimit;
    this.#credentials = credentials;
  }

  get url(): string {
    return `localhost:${this.#port}`;
  }

  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = new Server({
      'grpc.max_receive_message_length': HUNDRED_MEBIBYTES,
      'grpc.max_send_message_length': HUNDRED_MEBIBYTES,
    });
    // The port of the first start may still be held by a closing connection.
    await until(async () => {
      this.#port = await bind(server, this.#port, this.#credentials);
      return true;
    });
    // Services need the url, which is known only now; no call can arrive before this turn of the loop ends.
    const runner = new CallRunner(this.#parts.faults, this.#concurrencyLimit, this.url);
    server.addService(gateway.GatewayService, gatewayService(this.#parts, runner));
    server.addService(peer.EndorserService, endorserService(this.#parts, runner));
    server.addService(peer.DeliverService, deliverService(this.#parts, this.url));
    this.#server = server;
  }

  /** Cuts every connection. */
  stop(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }
}

function bind(server: Server, port: number, identity: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, identity, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
}
