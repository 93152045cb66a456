import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';

/**
 * Numbers, words of closed sets and our own names; never headers, bodies, keys, addresses or ids chosen by a sender.
 */
type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanStart {
  /** From a closed set: a route template, a statement's function, a phase. */
  readonly name: string;
  /** `server`: handles a request; `client`: waits for another process; `internal`: work in this process. */
  readonly kind?: 'server' | 'client' | 'internal';
  readonly attributes?: SpanAttributes;
  /** The trace context of an incoming request, in place of the active span. */
  readonly remote?: { readonly traceparent: string | undefined; readonly tracestate: string | undefined };
  /** Starts a trace if no span is active. Otherwise work outside a request is not traced. */
  readonly beginsTrace?: boolean;
  /** Replaces the active span; `null` for none. */
  readonly parent?: Span | null;
  readonly links?: readonly Span[];
}

/** One operation of a trace. Methods never throw or wait. */
export interface Span {
  readonly traceId: string;
  /** traceparent of downstream calls in this span. */
  readonly traceparent: string;
  readonly tracestate: string | undefined;
  readonly isSampled: boolean;
  set(attributes: SpanAttributes): void;
  /** Ends the span; later calls are ignored. A failure is recorded by type only: messages may contain input. */
  end(failure?: string): void;
}

/** Published to the tracer, which sets `span`. */
export interface SpanMessage {
  readonly start: SpanStart;
  readonly parent: Span | undefined;
  span: Span | undefined;
}

/** Without a subscriber tracing is off, and starting a span costs one check. */
export const spanChannel = channel('sealgate:span');

const active = new AsyncLocalStorage<Span | undefined>();

/** The active span. */
export const activeSpan = (): Span | undefined => active.getStore();

/** Runs work, and everything it starts, in a span; in none if undefined. */
export const withSpan = <Result>(span: Span | undefined, work: () => Result): Result => active.run(span, work);

/** Starts a span that the caller ends. Undefined if tracing is off or there is no trace to join. */
export function startSpan(start: SpanStart): Span | undefined {
  if (!spanChannel.hasSubscribers) return undefined;
  const parent = start.parent === undefined ? active.getStore() : (start.parent ?? undefined);
  const message: SpanMessage = { start, parent, span: undefined };
  spanChannel.publish(message);
  return message.span;
}

/** Runs work in a span that ends with it or with its promise. Without tracing it only runs the work. */
export function inSpan<Result>(start: SpanStart, work: () => Result): Result {
  const span = startSpan(start);
  if (span === undefined) return work();
  try {
    const result = active.run(span, work);
    if (result instanceof Promise) {
      result.then(
        () => span.end(),
        (error: unknown) => span.end(failureType(error)),
      );
    } else span.end();
    return result;
  } catch (error) {
    span.end(failureType(error));
    throw error;
  }
}

const CODE = /^[A-Z0-9_]{2,40}$/;

/** The type of a failure: its code (SQLSTATE, errno, problem code), or the name of its class. */
export function failureType(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && CODE.test(code) ? code : error.name.slice(0, 60);
}

/** W3C Trace Context section 3.2: version, trace-id, parent-id, flags; later versions may add fields. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const NO_TRACE_ID = '0'.repeat(32);
const NO_PARENT_ID = '0'.repeat(16);

/** The trace id of a valid `traceparent` header, else undefined. */
export function traceIdOf(header: string): string | undefined {
  const match = TRACEPARENT.exec(header);
  if (match === null) return undefined;
  const [, version, traceId, parentId, further] = match;
  if (version === 'ff' || traceId === NO_TRACE_ID || parentId === NO_PARENT_ID) return undefined;
  return version === '00' && further !== undefined ? undefined : traceId;
}

/** A traceparent for a request without one. Not sampled, because no caller asked for it. */
export function newTraceparent(): string {
  const bytes = randomBytes(24).toString('hex');
  return `00-${bytes.slice(0, 32)}-${bytes.slice(32)}-00`;
}
