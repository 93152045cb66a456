import type { ServerResponse } from 'node:http';

/** One message of `text/event-stream` (WHATWG HTML, section 9.2). */
interface StreamMessage {
  readonly event: string;
  /** The client sends it as Last-Event-ID when it reconnects. */
  readonly id?: string;
  /** A string is sent as it is, and must have no line break. */
  readonly data: object | string;
}

export interface EventStream {
  /** Returns false, without sending, if the client reads too slowly. */
  send(message: StreamMessage): boolean;
  /** Resolves once a message can be sent, or the stream has ended: for streams that may lose nothing. */
  ready(): Promise<void>;
  /** Ends the response; later messages are dropped. */
  end(message?: StreamMessage): void;
}

/** Starts a response of server-sent events, in the handler of a raw route. */
export function eventStream(
  response: ServerResponse,
  options: {
    /** Calls `done` once after `ms`, unless the returned function is called first. */
    readonly startTimer: (done: () => void, ms: number) => () => void;
    /** Interval of heartbeat comments, which keep proxies and clients from timing out. */
    readonly heartbeatMs: number;
    /**
     * The client has seen all up to this id, although there were no messages: sent at the beginning and with heartbeats,
     * so that it resumes there. Undefined: nothing to say. May end the stream.
     */
    readonly lastId?: () => string | undefined;
    /** Maximum bytes buffered for a slow client. */
    readonly mostWaitingBytes: number;
    /** Called once when the stream ends, whichever side ended it. */
    readonly onEnd: () => void;
  },
): EventStream {
  const { startTimer, heartbeatMs, mostWaitingBytes, onEnd, lastId = () => undefined } = options;
  // Proxies that buffer responses would delay messages.
  response.setHeader('X-Accel-Buffering', 'no');
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  let hasEnded = false;
  // A message without data is not dispatched, but its id is remembered.
  const comment = (text: string): void => {
    const id = lastId();
    // It may have ended the stream.
    if (hasEnded) return;
    response.write(`: ${text}\n${id === undefined ? '' : `id: ${id}\n`}\n`);
  };
  comment('begin');
  let stopBeating = (): void => undefined;
  const beat = (): void => {
    stopBeating = startTimer(() => {
      if (response.writableLength <= mostWaitingBytes) comment('alive');
      if (!hasEnded) beat();
    }, heartbeatMs);
  };
  const finish = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    stopBeating();
    socket?.off('end', leave);
    onEnd();
  };
  // The server allows half-open connections. For this response a client that ends its side has gone, and would
  // otherwise be noticed only at the second heartbeat.
  const { socket } = response;
  const leave = (): void => {
    finish();
    response.end();
  };
  socket?.once('end', leave);
  beat();
  // The client may have left before the stream began.
  if (response.closed) finish();
  else response.once('close', finish);
  return {
    ready() {
      if (hasEnded || response.writableLength <= mostWaitingBytes) return Promise.resolve();
      return new Promise((resolve) => {
        const end = (): void => {
          response.off('drain', end).off('close', end);
          resolve();
        };
        response.on('drain', end).on('close', end);
      });
    },
    send(message) {
      if (hasEnded || response.writableLength > mostWaitingBytes) return false;
      response.write(textOf(message));
      return true;
    },
    end(message) {
      if (hasEnded) return;
      finish();
      response.end(message === undefined ? '' : textOf(message));
    },
  };
}

/** JSON.stringify emits no line break, which would end the data line. */
const textOf = ({ event, id, data }: StreamMessage): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
