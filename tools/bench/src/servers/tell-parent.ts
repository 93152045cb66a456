import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Sent by a server once it listens. */
export interface Listening {
  readonly port: number;
}

/** Listens on a free loopback port, reports it to the parent, and ends with the parent. */
export function listenForParent(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo; // It listens on TCP, so the address is not a pipe name.
    process.send?.({ port } satisfies Listening);
  });
  process.on('disconnect', () => process.exit(0));
  process.on('SIGINT', () => undefined);
}
