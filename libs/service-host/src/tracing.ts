import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import {
  buildInfo,
  failureType,
  type Log,
  type Metrics,
  type Span,
  spanChannel,
  type SpanMessage,
  type SpanStart,
  startSpan,
  traceIdOf,
} from '@sealgate/observability';
import type { TracingConfig } from './listener-fields.ts';
import { type ExportConfig, spanExport, spanFates, TRACING_LIMITS, type TracingLimits } from './span-export.ts';

const SPAN_LIMITS = {
  attributeCountLimit: 32,
  attributeValueLengthLimit: 256,
  linkCountLimit: 256,
  eventCountLimit: 0,
};

/**
 * Exports spans to an OpenTelemetry collector until the returned function is called, which flushes and never rejects.
 * Requests never wait for a collector: spans are queued, and dropped and counted when the queue is full.
 * @throws StartError where the certificate cannot be read.
 */
export function startTracing({
  name,
  config,
  log,
  metrics,
  limits,
}: {
  readonly name: string;
  readonly config: TracingConfig & ExportConfig;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly limits?: Partial<TracingLimits>;
}): () => Promise<void> {
  const bounds = { ...TRACING_LIMITS, ...limits };
  const fates = spanFates(metrics, log);
  const provider = new BasicTracerProvider({
    sampler: samplerOf(config),
    resource: resourceFromAttributes({
      'service.name': name,
      'service.version': buildInfo.version,
      ...config.otelResourceAttributes,
      ...(config.otelServiceName === undefined ? {} : { 'service.name': config.otelServiceName }),
    }),
    spanLimits: SPAN_LIMITS,
    spanProcessors: [spanExport(config, fates, bounds)],
  });
  const tracer = provider.getTracer('sealgate', buildInfo.version);
  const onSpan = (message: unknown): void => answerMessage(message as SpanMessage, tracer);
  subscribe(spanChannel.name, onSpan);
  const unsubscribeRedis = traceRedis();
  return async () => {
    unsubscribe(spanChannel.name, onSpan);
    unsubscribeRedis();
    await withinTime(provider.shutdown(), bounds.drainTimeoutMs);
    if (fates.waiting > 0) log.warn('trace_spans_lost', { spans: fates.waiting });
  };
}

function samplerOf({ otelTracesSampler, otelTracesSamplerArg }: TracingConfig): Sampler {
  const root = otelTracesSampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : otelTracesSampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(otelTracesSamplerArg);
  return otelTracesSampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

/** Adapts a span of the OpenTelemetry SDK to our Span. */
class TracedSpan implements Span {
  readonly inner: OtelSpan;
  readonly #context: SpanContext;
  isEnded = false;

  constructor(inner: OtelSpan) {
    this.inner = inner;
    this.#context = inner.spanContext();
  }

  get context(): SpanContext {
    return this.#context;
  }

  get traceId(): string {
    return this.#context.traceId;
  }

  get isSampled(): boolean {
    return (this.#context.traceFlags & TraceFlags.SAMPLED) !== 0;
  }

  get traceparent(): string {
    const { traceId, spanId } = this.#context;
    return `00-${traceId}-${spanId}-${this.isSampled ? '01' : '00'}`;
  }

  get tracestate(): string | undefined {
    const text = this.#context.traceState?.serialize();
    return text === '' ? undefined : text;
  }

  set(attributes: Readonly<Record<string, string | number | boolean>>): void {
    this.inner.setAttributes(attributes);
  }

  end(failure?: string): void {
    if (this.isEnded) return;
    this.isEnded = true;
    if (failure !== undefined) {
      this.inner.setAttribute('error.type', failure);
      this.inner.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.inner.end();
  }
}

function answerMessage(message: SpanMessage, tracer: Tracer): void {
  const { start, parent } = message;
  const within = start.remote === undefined ? contextOfParent(parent) : contextOfRemote(start.remote);
  if (within === undefined && start.beginsTrace !== true) return;
  const { name, kind = 'internal', attributes = {}, links = [] } = start;
  const linked = links.flatMap((span) => (span instanceof TracedSpan ? [{ context: span.context }] : []));
  const options = { kind: KINDS[kind], attributes: { ...attributes }, links: linked };
  message.span = new TracedSpan(tracer.startSpan(name, options, within ?? ROOT_CONTEXT));
}

/** No child spans of unsampled or ended parents: a loop started by a request outlives it. */
function contextOfParent(parent: Span | undefined): Context | undefined {
  if (!(parent instanceof TracedSpan) || parent.isEnded || !parent.isSampled) return undefined;
  return trace.setSpan(ROOT_CONTEXT, parent.inner);
}

/** W3C Trace Context sections 3.2 and 3.3: an invalid traceparent is ignored. */
function contextOfRemote({ traceparent, tracestate }: NonNullable<SpanStart['remote']>): Context | undefined {
  if (traceparent === undefined || traceIdOf(traceparent) === undefined) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
  return trace.setSpanContext(ROOT_CONTEXT, context);
}

interface RedisCall {
  readonly command?: unknown;
  span?: Span | undefined;
  error?: unknown;
}

const COMMAND = /^[a-z]{2,20}$/i;

/**
 * ioredis publishes its commands on a diagnostics channel. Only their names are recorded: arguments are keys and
 * values.
 */
function traceRedis(): () => void {
  const channel = tracingChannel<string, RedisCall>('ioredis:command');
  const handlers = {
    start(call: RedisCall) {
      const { command } = call;
      const name = typeof command === 'string' && COMMAND.test(command) ? command.toUpperCase() : 'OTHER';
      const attributes = { 'db.system.name': 'redis', 'db.operation.name': name };
      call.span = startSpan({ name, kind: 'client', attributes });
    },
    end: () => undefined,
    asyncStart: () => undefined,
    asyncEnd: ({ span, error }: RedisCall) => span?.end(error === undefined ? undefined : failureType(error)),
    error: () => undefined,
  };
  channel.subscribe(handlers);
  return () => channel.unsubscribe(handlers);
}

async function withinTime(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => undefined), timeUp]);
  clearTimeout(timer);
}
