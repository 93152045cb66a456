import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { encodeRequest, exchange, type HttpAnswer, type HttpRequest } from './http-exchange.ts';

/**
 * A client that sends exactly the given bytes, with little overhead, so that a load is not mostly its own. It never
 * repeats a request by itself; retries are up to the story.
 */
export interface HttpClient {
  readonly origin: string;
  /** Rejects when there is no answer: refused, cut, or timed out (default 15 s). */
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): void;
}

const defaultTimeoutMs = 15_000;
/** A connection idle for longer may be about to be closed by the server, so it is not reused. */
const freshForMs = 2_000;

/** A client for one origin (`http://127.0.0.1:4104`). Connections are kept alive. */
export function httpClient(
  origin: string,
  {
    connections = 64,
    ca,
  }: {
    /** Maximum connections; further requests wait for one. */
    readonly connections?: number;
    /** The certificate to trust, for https. */
    readonly ca?: string;
  } = {},
): HttpClient {
  const { protocol, hostname, port, host } = new URL(origin);
  const idle: { socket: Socket; sinceMs: number }[] = [];
  const waiting: (() => void)[] = [];
  let open = 0;

  const openSocket = (): Socket => {
    const socket =
      protocol === 'https:'
        ? connectTls({ host: hostname, port: Number(port), ...(ca === undefined ? {} : { ca }) })
        : connect({ host: hostname, port: Number(port) });
    return socket.setNoDelay(true).on('error', () => undefined);
  };
  const take = (): Socket => {
    for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
      if (!kept.socket.destroyed && performance.now() - kept.sinceMs < freshForMs) return kept.socket;
      kept.socket.destroy();
    }
    return openSocket();
  };
  const turn = async (): Promise<void> => {
    if (open >= connections) await new Promise<void>((resolve) => waiting.push(resolve));
    open += 1;
  };

  return {
    origin,
    async send(request) {
      await turn();
      const socket = take();
      try {
        const { method = 'GET', timeoutMs = defaultTimeoutMs } = request;
        const answer = await exchange(socket, encodeRequest(request, host), { method, timeoutMs });
        if (answer.closes) socket.destroy();
        else idle.push({ socket, sinceMs: performance.now() });
        return answer;
      } catch (error) {
        socket.destroy();
        throw error;
      } finally {
        open -= 1;
        waiting.shift()?.();
      }
    },
    close: () => {
      for (const { socket } of idle.splice(0)) socket.destroy();
    },
  };
}
