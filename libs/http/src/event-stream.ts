import type { ServerResponse } from 'node:http';

/** One message of `text/event-stream` (WHATWG HTML, section 9.2). */
export interface StreamMessage {
  readonly event: string;
  /** What a client sends as Last-Event-ID when it comes back. */
  readonly id?: string;
  readonly data: object;
}

export interface EventStream {
  /** False: the client takes too little of it, and the message was not sent. */
  send(message: StreamMessage): boolean;
  /** Ends the answer; nothing is sent any more. */
  end(message?: StreamMessage): void;
}

export interface EventStreamOptions {
  /** Calls `done` once, later, unless what it returns is called before. */
  readonly startTimer: (done: () => void, ms: number) => () => void;
  /** A comment is sent so often, so that proxies and clients see that it lives. */
  readonly heartbeatMs: number;
  /** What may wait in memory for a client that is slow. */
  readonly mostWaitingBytes: number;
  /** Told once, when the stream has ended, whoever ended it. */
  readonly onEnd: () => void;
}

/** Begins an answer of server-sent events. For the handler of a raw route. */
export function eventStream(response: ServerResponse, options: EventStreamOptions): EventStream {
  const { startTimer, heartbeatMs, mostWaitingBytes, onEnd } = options;
  // Proxies that gather answers would hold messages back.
  response.setHeader('X-Accel-Buffering', 'no');
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write(': begin\n\n');
  let hasEnded = false;
  let stopBeating = (): void => undefined;
  const beat = (): void => {
    stopBeating = startTimer(() => {
      if (response.writableLength <= mostWaitingBytes) response.write(': alive\n\n');
      beat();
    }, heartbeatMs);
  };
  const finish = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    stopBeating();
    socket?.off('end', leave);
    onEnd();
  };
  // The host lets a client say that it has sent everything and still wait. Nobody waits for the end of this answer: whoever
  // says so has gone, and would be noticed at the second heartbeat otherwise.
  const { socket } = response;
  const leave = (): void => {
    finish();
    response.end();
  };
  socket?.once('end', leave);
  beat();
  response.once('close', finish);
  return {
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

/** JSON has no line break that would end the line of the data. */
const textOf = ({ event, id, data }: StreamMessage): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
