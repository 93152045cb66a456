import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy that injects network faults on demand. */
export interface TcpGate {
  /** `url` with this gate's address in place of the server's. */
  through(url: string): string;
  /** Stops passing bytes without closing anything: a frozen server or a black-holed network. */
  freeze(): void;
  /** Passes the bytes held back, and all later ones. */
  thaw(): void;
  /** Cuts every connection; new ones are refused until `open`. */
  shut(): Promise<void>;
  open(): Promise<void>;
  /** Resets every connection; new ones are accepted. */
  reset(): void;
  /** Drops the next bytes of the server and cuts their connection. */
  loseNextAnswer(): void;
  readonly connections: number;
  close(): Promise<void>;
}

interface State {
  readonly pairs: Set<readonly [Socket, Socket]>;
  losing: boolean;
  frozen: boolean;
}

export async function tcpGate(targetUrl: string): Promise<TcpGate> {
  const target = new URL(targetUrl);
  const state: State = { pairs: new Set(), losing: false, frozen: false };
  const start = (): Server => createServer((near) => join(state, near, connect(Number(target.port), target.hostname)));
  let server = start();
  const port = await listen(server, 0);

  const shut = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const [near] of state.pairs) near.destroy();
    await closed;
  };
  const eachSocket = (what: (socket: Socket) => void): void => [...state.pairs].flat().forEach(what);

  return {
    through: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    freeze: () => {
      state.frozen = true;
      eachSocket((socket) => socket.pause());
    },
    thaw: () => {
      state.frozen = false;
      eachSocket((socket) => socket.resume());
    },
    shut,
    open: async () => {
      server = start();
      await listen(server, port);
    },
    reset: () => {
      for (const [near] of state.pairs) near.resetAndDestroy();
    },
    loseNextAnswer: () => {
      state.losing = true;
    },
    get connections() {
      return state.pairs.size;
    },
    close: shut,
  };
}

/** Passes bytes both ways until one side ends. */
function join(state: State, near: Socket, far: Socket): void {
  const pair = [near, far] as const;
  state.pairs.add(pair);
  near.on('data', (bytes) => far.write(bytes));
  far.on('data', (bytes) => {
    if (!state.losing) return near.write(bytes);
    state.losing = false;
    return near.destroy();
  });
  for (const socket of pair) {
    socket.on('error', () => undefined);
    socket.on('close', () => {
      state.pairs.delete(pair);
      for (const other of pair) other.destroy();
    });
    if (state.frozen) socket.pause();
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve) => {
    // A server on TCP has a port, not a path.
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
