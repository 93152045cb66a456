import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a server says once it listens. */
export interface Listening {
  readonly port: number;
}

/** Listens on a free port of loopback, tells the parent which, and ends with it. */
export function listenForParent(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo; // It listens on TCP, so the address is no pipe's name.
    process.send?.({ port } satisfies Listening);
  });
  process.on('disconnect', () => process.exit(0));
  process.on('SIGINT', () => undefined);
}
