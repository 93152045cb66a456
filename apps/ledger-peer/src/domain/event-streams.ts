import { AppError, type Fault } from '@sealgate/errors';
import { BEGINNING, invalidCursor, makeEventCursor, readEventCursor, type EventPosition } from './event-cursor.ts';
import { eventScope, type EventFilter, type EventScope } from './event-scope.ts';
import type { EventSource } from './event-source.ts';
import { eventText, type EventKind } from './ledger-event.ts';
import type { Mappings } from './mapping.ts';
import { pause } from './pause.ts';
import { asked } from './read-assets.ts';

/** Where events go. Its methods must not throw. */
export interface EventSink {
  send(message: { readonly event: EventKind; readonly id: string; readonly data: string }): boolean;
  /** Resolves once a message can be sent, or nobody reads any more. */
  ready(): Promise<void>;
  end(): void;
}

/** Where a stream begins: what the client has seen, and where it said so. */
export interface EventStart {
  /** Absent: now. `0`: the first event. Else a cursor. */
  readonly from: string | undefined;
  readonly place: Pick<Fault, 'in' | 'pointer'>;
}

export interface EventStreamsPorts {
  readonly source: EventSource;
  readonly mappings: Mappings;
  readonly now: () => number;
  readonly startTimer: (done: () => void, ms: number) => () => void;
  /** Called with a failure of a stream, once until it reads again. */
  readonly onProblem: (error: unknown) => void;
  readonly mostStreams: number;
  /** Of one key, so that nobody can take the places of everybody. */
  readonly mostOfOne: number;
}

const RETRY_AFTER_SECONDS = 30;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5000;

/** The streams of this process. */
export class EventStreams {
  readonly #ports: EventStreamsPorts;
  readonly #open = new Set<OpenEventStream>();

  constructor(ports: EventStreamsPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#open.size;
  }

  /** How far reading is behind the ledger. Slow clients do not count: what waits for them was read. */
  get lag(): { readonly blocks: number; readonly seconds: number } {
    const lags = [...this.#open].map((stream) => stream.lag);
    return {
      blocks: Math.max(0, ...lags.map(({ blocks }) => blocks)),
      seconds: Math.max(0, ...lags.map(({ seconds }) => seconds)),
    };
  }

  /**
   * Takes a place and finds where to begin; `run` of the result begins.
   * @throws AppError UNKNOWN_CHANNEL, UNKNOWN_CHAINCODE, INVALID_CURSOR, RATE_LIMITED, LEDGER_UNAVAILABLE.
   */
  async open(caller: string, filter: EventFilter, start: EventStart): Promise<OpenEventStream> {
    const { source, mappings, mostStreams, mostOfOne } = this.#ports;
    const { channel } = filter;
    const scope = eventScope(mappings, filter);
    const given = positionOf(channel, start);
    const ofOne = [...this.#open].filter((stream) => stream.caller === caller).length;
    if (ofOne >= mostOfOne) throw limited(`You have ${mostOfOne} streams open already; end one first.`);
    if (this.#open.size >= mostStreams) throw limited(`${mostStreams} streams are open already.`);
    const stream = new OpenEventStream(this.#ports, { caller, channel, scope, onEnd: () => this.#open.delete(stream) });
    this.#open.add(stream);
    try {
      const newest = await asked(source.newest(channel));
      if (given !== undefined && !source.reaches(newest, given))
        throw invalidCursor('The channel has no such event: it has fewer than the cursor says.', start.place);
      stream.position = given ?? newest;
      return stream;
    } catch (error) {
      stream.end();
      throw error;
    }
  }

  /** Ends all streams because the process stops. */
  close(): void {
    for (const stream of [...this.#open]) stream.end();
  }
}

interface StreamOf {
  readonly caller: string;
  readonly channel: string;
  readonly scope: EventScope;
  readonly onEnd: () => void;
}

/** One stream, from admission to its end. It reads only what its client has room for. */
export class OpenEventStream {
  readonly #ports: EventStreamsPorts;
  readonly #of: StreamOf;
  readonly #stop = new AbortController();
  readonly #leave: () => void;
  #sink: EventSink | undefined;
  #isWaiting = false;
  /** When it was last not behind, or waited for its client. */
  #currentAtMs: number;
  /** All up to here was sent, or is not for this reader. */
  position: EventPosition = BEGINNING;

  constructor(ports: EventStreamsPorts, of: StreamOf) {
    this.#ports = ports;
    this.#of = of;
    this.#currentAtMs = ports.now();
    this.#leave = ports.source.follow(of.channel);
  }

  get caller(): string {
    return this.#of.caller;
  }

  /** Resumes where this stream is. */
  get cursor(): string {
    return makeEventCursor(this.#of.channel, this.position);
  }

  get lag(): { readonly blocks: number; readonly seconds: number } {
    const { source, now } = this.#ports;
    const blocks = this.#isWaiting ? 0 : source.behind(this.#of.channel, this.position);
    return { blocks, seconds: blocks === 0 ? 0 : Math.max(0, now() - this.#currentAtMs) / 1000 };
  }

  /** Sends what is after the position, and then what is new, until the end. A ledger out of reach is asked again. */
  async run(sink: EventSink): Promise<void> {
    const { signal } = this.#stop;
    this.#sink = sink;
    if (signal.aborted) sink.end();
    let isTold = false;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted;) {
      try {
        await this.#step(sink);
        pauseMs = FIRST_PAUSE_MS;
        isTold = false;
      } catch (error) {
        if (signal.aborted) return;
        if (!isTold) this.#ports.onProblem(error);
        isTold = true;
        await pause(pauseMs, signal, this.#ports.startTimer);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
  }

  /** Called once or more. */
  end(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#leave();
    this.#of.onEnd();
    this.#sink?.end();
  }

  async #step(sink: EventSink): Promise<void> {
    const { source, now } = this.#ports;
    const { channel, scope } = this.#of;
    const { signal } = this.#stop;
    if (source.behind(channel, this.position) === 0) this.#currentAtMs = now();
    await source.arrival(channel, this.position, signal);
    if (signal.aborted) return;
    const { events, position } = await source.read(channel, this.position, signal);
    for (const event of events) {
      const shown = scope(event);
      if (shown === undefined) continue;
      await this.#ready(sink);
      if (signal.aborted) return;
      const id = makeEventCursor(channel, event.position);
      if (!sink.send({ event: event.kind, id, data: eventText(channel, shown) })) return;
      this.position = event.position;
    }
    this.position = position;
  }

  async #ready(sink: EventSink): Promise<void> {
    this.#isWaiting = true;
    try {
      await sink.ready();
    } finally {
      this.#isWaiting = false;
      this.#currentAtMs = this.#ports.now();
    }
  }
}

/** Undefined: from now on. */
function positionOf(channel: string, { from, place }: EventStart): EventPosition | undefined {
  if (from === undefined) return undefined;
  return from === '0' ? BEGINNING : readEventCursor(channel, from, place);
}

function limited(detail: string): AppError {
  return new AppError('RATE_LIMITED', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
