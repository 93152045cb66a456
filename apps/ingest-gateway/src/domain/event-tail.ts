import { AppError } from '@sealgate/errors';
import type { RefusalOfSource } from './refusals.ts';
import {
  digitsOf,
  timeOfDigits,
  type EventFilter,
  type EventStore,
  type IngestEvent,
  type SeenEvent,
} from './read-events.ts';

export type TailFilter = Pick<EventFilter, 'networkId' | 'type' | 'status' | 'kind' | 'channel'>;

/** A client of the event stream. Its methods must not throw. */
interface TailListener {
  /** Who listens: the holder of a token, or a person by issuer and subject. */
  readonly person: string;
  readonly filter: TailFilter;
  /** Called in the order in which events were seen; called again for an event whose status has changed. */
  onEvent(event: IngestEvent): void;
  /** Called once for each refused delivery; without it there are none. */
  readonly onRefused?: ((refused: RefusalOfSource) => void) | undefined;
  /** Called when events were skipped. */
  onGap(reason: string): void;
  onEnd(reason: string): void;
}

interface EventTailPorts {
  readonly events: Pick<EventStore, 'list' | 'recent'>;
  /** Refused deliveries from a moment on, newest first. */
  readonly refused: { recent(from: Date, limit: number): Promise<readonly RefusalOfSource[]> };
  readonly now: () => number;
  /** Runs `work` at once and then a second after each run has ended, until the returned function is called. */
  readonly begin: (work: () => Promise<void>) => () => void;
  readonly mostListeners: number;
  /** The share of one person, so that nobody can take the places of everybody. */
  readonly mostOfOne: number;
}

/** The outcome of a request is unknown for up to two minutes; its event has the time of the request. */
const LOOK_BACK_MS = 150_000;
/** Maximum number of events per poll, and of events repeated on resume. */
const MOST_EVENTS = 500;
const RESUME_WITHIN_MS = 900_000;
/** On resume, events around the last one seen are repeated, because events may be written out of order. */
const OVERLAP_MS = 5000;
const RETRY_AFTER_SECONDS = 30;
/** A refused delivery is written seconds after its id was made. */
const REFUSED_LOOK_BACK_MS = 15_000;
const MOST_REFUSED = 200;

/** Events as they are written, for all clients of the stream: one poll of the store per second serves all of them. */
export class EventTail {
  readonly #ports: EventTailPorts;
  readonly #listeners = new Map<TailListener, { readonly sinceMs: number }>();
  /** The events of the previous poll by id; undefined before the first poll. */
  #seen: ReadonlyMap<string, SeenEvent> | undefined;
  /** The ids of the refused deliveries of the previous poll. */
  #seenRefused: ReadonlySet<string> = new Set();
  #stop: (() => void) | undefined;

  constructor(ports: EventTailPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#listeners.size;
  }

  /**
   * Subscribes to events from now on; with `after`, first repeats those since that event.
   * @throws AppError OVERLOADED when there are too many clients, of all persons or of this one.
   */
  listen(listener: TailListener, after: string | undefined): () => void {
    const { mostListeners, mostOfOne } = this.#ports;
    const ofOne = [...this.#listeners.keys()].filter(({ person }) => person === listener.person).length;
    if (ofOne >= mostOfOne) throw overloaded(`You have ${mostOfOne} streams open already; end one first.`);
    if (this.#listeners.size >= mostListeners) throw overloaded(`${mostListeners} clients are connected already.`);
    this.#listeners.set(listener, { sinceMs: this.#ports.now() });
    // Deferred until the caller holds the returned function.
    if (after !== undefined) queueMicrotask(() => void this.#resume(listener, after));
    this.#stop ??= this.#ports.begin(() => this.#look());
    return () => this.#leave(listener);
  }

  /** Ends all streams because the process stops. */
  close(): void {
    for (const listener of [...this.#listeners.keys()]) {
      this.#leave(listener);
      listener.onEnd('the process stops');
    }
  }

  #leave(listener: TailListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
    this.#seen = undefined;
    this.#seenRefused = new Set();
  }

  async #lookAtRefused(): Promise<void> {
    const wanting = () => [...this.#listeners].filter(([{ onRefused }]) => onRefused !== undefined);
    if (wanting().length === 0) return;
    const before = this.#seenRefused;
    const rows = await this.#ports.refused.recent(new Date(this.#ports.now() - REFUSED_LOOK_BACK_MS), MOST_REFUSED);
    if (this.#listeners.size === 0) return;
    this.#seenRefused = new Set(rows.map(({ refusedId }) => refusedId));
    const fresh = rows.filter(({ refusedId }) => !before.has(refusedId));
    for (const [{ onRefused, onGap, filter }, { sinceMs }] of wanting()) {
      if (before.size > 0 && fresh.length === MOST_REFUSED) onGap('more refused deliveries than can be shown at once');
      for (const refused of fresh.toReversed())
        if (refused.at.getTime() >= sinceMs && fitsRefused(refused, filter)) onRefused?.(refused);
    }
  }

  async #look(): Promise<void> {
    await Promise.all([this.#lookAtEvents(), this.#lookAtRefused()]);
  }

  async #lookAtEvents(): Promise<void> {
    const before = this.#seen;
    const isKnown = ({ eventId, status }: SeenEvent) => before?.get(eventId)?.status === status;
    const from = new Date(this.#ports.now() - LOOK_BACK_MS);
    const { seen, unknown } = await this.#ports.events.recent(from, MOST_EVENTS, isKnown);
    if (this.#listeners.size === 0) return;
    const hasGap = before !== undefined && seen.length === MOST_EVENTS && unknown.length === MOST_EVENTS;
    this.#seen = new Map(seen.map(({ eventId, status, at }) => [eventId, { eventId, status, at }]));
    for (const [listener, { sinceMs }] of this.#listeners) {
      if (hasGap) listener.onGap('more events than can be shown at once');
      const fresh = before === undefined ? unknown.filter(({ at }) => at.getTime() >= sinceMs) : unknown;
      for (const event of fresh.toReversed()) if (fits(event, listener.filter)) listener.onEvent(event);
    }
  }

  async #resume(listener: TailListener, after: string): Promise<void> {
    const digits = digitsOf(after);
    const afterMs = digits === undefined ? 0 : timeOfDigits(digits).getTime();
    const nowMs = this.#ports.now();
    if (afterMs < nowMs - RESUME_WITHIN_MS || afterMs > nowMs + OVERLAP_MS) {
      return listener.onGap('the last event that was seen is too long ago');
    }
    const filter = { ...listener.filter, from: new Date(afterMs - OVERLAP_MS) };
    try {
      const missed = await this.#ports.events.list(filter, { limit: MOST_EVENTS + 1 });
      if (!this.#listeners.has(listener)) return undefined;
      if (missed.length > MOST_EVENTS) listener.onGap('more events than can be shown at once');
      for (const event of missed.slice(0, MOST_EVENTS).toReversed()) listener.onEvent(event);
    } catch {
      // The client continues from now and receives a gap; readiness reports the outage.
      listener.onGap('the events in between cannot be read now');
    }
    return undefined;
  }
}

function overloaded(detail: string): AppError {
  return new AppError('OVERLOADED', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

function fits(event: IngestEvent, { networkId, type, status, kind, channel }: TailFilter): boolean {
  return (
    (networkId === undefined || event.networkId === networkId) &&
    (type === undefined || event.types.includes(type)) &&
    (status === undefined || event.status === status) &&
    (kind === undefined || event.kind === kind) &&
    (channel === undefined || event.records.some((record) => record.channel === channel))
  );
}

/** A refused delivery has no record: a filter of events other than the network means none. */
function fitsRefused(refused: RefusalOfSource, { networkId, type, status, kind, channel }: TailFilter): boolean {
  const isOfEvents = [type, status, kind, channel].some((filter) => filter !== undefined);
  return !isOfEvents && (networkId === undefined || refused.networkId === networkId);
}
