import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface SlowProxy {
  readonly port: number;
  /** The delay in each direction; initially 0. A change applies to data received from then on. */
  delayMs: number;
  close(): Promise<void>;
}

/** A TCP proxy between a client and a server on loopback that delays data, in order. `port` default any free one. */
export async function slowProxy(targetPort: number, port = 0): Promise<SlowProxy> {
  const sockets = new Set<Socket>();
  const proxy = { port: 0, delayMs: 0, close: () => Promise.resolve() };
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.setNoDelay(true);
    // Timers send data in the order of its arrival, so that nothing overtakes when the delay is changed.
    const held: Buffer[] = [];
    const sendNext = (): void => {
      const chunk = held.shift();
      if (chunk !== undefined && to.writable) to.write(chunk);
    };
    from.on('data', (chunk: Buffer) => {
      held.push(chunk);
      if (proxy.delayMs === 0) sendNext();
      else setTimeout(sendNext, proxy.delayMs);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  };
  const server = createServer((client) => {
    const upstream = connect({ host: '127.0.0.1', port: targetPort });
    pass(client, upstream);
    pass(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  proxy.port = (server.address() as AddressInfo).port; // It listens on TCP.
  proxy.close = () =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
  return proxy;
}
