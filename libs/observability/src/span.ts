import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';

/** Numbers, words of closed sets and names of ours; never a header, a body, a key, an id that a sender chose or an address. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanStart {
  /** From a closed set: a route template, a statement's function, a phase. */
  readonly name: string;
  /** `server`: answers a request; `client`: waits for another process; else work of this process. */
  readonly kind?: 'server' | 'client' | 'internal';
  readonly attributes?: SpanAttributes;
  /** The trace context of a request that came in, in place of the active span. */
  readonly remote?: { readonly traceparent: string | undefined; readonly tracestate: string | undefined };
  /** Begins a trace where no span is active. Without it, work that nobody asked for is not traced. */
  readonly beginsTrace?: boolean;
  /** In place of the active span; `null`: none. */
  readonly parent?: Span | null;
  readonly links?: readonly Span[];
}

/** One operation of a trace. Nothing here throws or waits. */
export interface Span {
  readonly traceId: string;
  /** What a call that belongs to this span sends along. */
  readonly traceparent: string;
  readonly tracestate: string | undefined;
  readonly isSampled: boolean;
  set(attributes: SpanAttributes): void;
  /** Ends it, once. A failure is told by its type alone: messages may hold what was sent. */
  end(failure?: string): void;
}

/** What is published for whoever traces, who answers in `span`. */
export interface SpanMessage {
  readonly start: SpanStart;
  readonly parent: Span | undefined;
  span: Span | undefined;
}

/** Without a subscriber nothing is traced, and asking for a span costs one look. */
export const spanChannel = channel('sealgate:span');

const active = new AsyncLocalStorage<Span | undefined>();

/** The span that this work belongs to. */
export const activeSpan = (): Span | undefined => active.getStore();

/** Runs work, and everything that it begins, as part of a span; of none where it is undefined. */
export const withSpan = <Result>(span: Span | undefined, work: () => Result): Result => active.run(span, work);

/** Begins a span that the caller ends. Undefined where nobody traces, and where it would belong to no trace. */
export function startSpan(start: SpanStart): Span | undefined {
  if (!spanChannel.hasSubscribers) return undefined;
  const parent = start.parent === undefined ? active.getStore() : (start.parent ?? undefined);
  const message: SpanMessage = { start, parent, span: undefined };
  spanChannel.publish(message);
  return message.span;
}

/** Runs work as a span that ends with it, or with the promise that it returns. Where nobody traces, it is only run. */
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

/** What a failure is called: its code (SQLSTATE, errno, a problem's), or the name of its class. */
export function failureType(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && CODE.test(code) ? code : error.name.slice(0, 60);
}
