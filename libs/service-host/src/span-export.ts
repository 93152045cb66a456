import { readFileSync } from 'node:fs';
import { TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { Log, Metrics } from '@sealgate/observability';
import { StartError } from './start-error.ts';
import type { TracingConfig } from './tracing-fields.ts';

export interface TracingLimits {
  /** Spans that wait for their export; more are dropped. */
  readonly queueSpans: number;
  readonly batchSpans: number;
  readonly exportEveryMs: number;
  /** One export, its retries among it. One runs at a time. */
  readonly exportTimeoutMs: number;
  /** The last exports of a process that ends. */
  readonly drainTimeoutMs: number;
}

export const TRACING_LIMITS: TracingLimits = {
  queueSpans: 8192,
  batchSpans: 512,
  exportEveryMs: 2000,
  exportTimeoutMs: 5000,
  drainTimeoutMs: 3000,
};

/** A queue of spans in front of a collector. @throws StartError where the certificate cannot be read. */
export function spanExport(config: ExportConfig, fates: SpanFates, limits: TracingLimits): SpanProcessor {
  const exporter = watchedExporter(exporterOf(config, limits.exportTimeoutMs), fates);
  const queue = new BatchSpanProcessor(exporter, {
    maxQueueSize: limits.queueSpans,
    maxExportBatchSize: limits.batchSpans,
    scheduledDelayMillis: limits.exportEveryMs,
    exportTimeoutMillis: limits.exportTimeoutMs,
  });
  return boundedProcessor(queue, limits.queueSpans, fates);
}

export type ExportConfig = Pick<TracingConfig, 'otlpHeaders' | 'otlpCertificate'> & { readonly otlpEndpoint: string };

function exporterOf({ otlpEndpoint, otlpHeaders, otlpCertificate }: ExportConfig, timeoutMs: number) {
  return new OTLPTraceExporter({
    url: otlpEndpoint,
    headers: { ...otlpHeaders },
    timeoutMillis: timeoutMs,
    httpAgentOptions: otlpCertificate === undefined ? {} : { ca: readCertificate(otlpCertificate) },
  });
}

function readCertificate(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new StartError(
      `OTEL_EXPORTER_OTLP_CERTIFICATE: cannot be read: ${String((error as { code?: unknown }).code)}`,
    );
  }
}

/** What becomes of spans that have ended. */
export interface SpanFates {
  /** Ended and not yet given to the exporter, or with it. */
  waiting: number;
  /** Not yet given to the exporter. */
  queued: number;
  exported(spans: number): void;
  dropped(reason: 'queue_full' | 'export_failed', spans: number): void;
}

export function spanFates(metrics: Metrics, log: Log): SpanFates {
  const exportedTotal = metrics.counter({
    name: 'trace_spans_exported_total',
    help: 'Spans that the collector has taken.',
  });
  const droppedTotal = metrics.counter({
    name: 'trace_spans_dropped_total',
    help: 'Spans that were lost: the queue was full, or the collector did not take them.',
    labels: { reason: ['queue_full', 'export_failed'] },
  });
  const exportedChild = exportedTotal.child({});
  const full = droppedTotal.child({ reason: 'queue_full' });
  const failed = droppedTotal.child({ reason: 'export_failed' });
  let isFailing = false;
  return {
    waiting: 0,
    queued: 0,
    exported(spans) {
      this.waiting -= spans;
      exportedChild.inc(spans);
      if (isFailing) log.info('trace_export_recovered');
      isFailing = false;
    },
    dropped(reason, spans) {
      if (reason === 'queue_full') return full.inc(spans);
      this.waiting -= spans;
      failed.inc(spans);
      if (!isFailing) log.warn('trace_export_failed', { spans });
      isFailing = true;
    },
  };
}

/** Tells what became of each batch, within its time. The exporter's own words may hold the URL, so they are not told. */
function watchedExporter(exporter: SpanExporter, fates: SpanFates): SpanExporter {
  return {
    export(spans, done) {
      fates.queued -= spans.length;
      exporter.export(spans, (result) => {
        // ExportResultCode.SUCCESS
        if (result.code === 0) fates.exported(spans.length);
        else fates.dropped('export_failed', spans.length);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

/** The queue drops what it does not hold without saying so: it is asked for no more than it holds. */
function boundedProcessor(queue: SpanProcessor, queueSpans: number, fates: SpanFates): SpanProcessor {
  return {
    onStart: () => undefined,
    onEnd(span: ReadableSpan) {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
      if (fates.queued >= queueSpans) return fates.dropped('queue_full', 1);
      fates.queued += 1;
      fates.waiting += 1;
      queue.onEnd(span);
    },
    forceFlush: () => queue.forceFlush(),
    shutdown: () => queue.shutdown(),
  };
}
