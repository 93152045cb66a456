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
import type { TracingConfig } from './listener-fields.ts';
import { StartError } from './load-config.ts';

export interface TracingLimits {
  /** Maximum spans queued for export; more are dropped. */
  readonly queueSpans: number;
  readonly batchSpans: number;
  readonly exportEveryMs: number;
  /** Timeout of one export including retries. One runs at a time. */
  readonly exportTimeoutMs: number;
  /** Timeout of the last exports when the process stops. */
  readonly drainTimeoutMs: number;
}

export const TRACING_LIMITS: TracingLimits = {
  queueSpans: 8192,
  batchSpans: 512,
  exportEveryMs: 2000,
  exportTimeoutMs: 5000,
  drainTimeoutMs: 3000,
};

/** A span queue with an exporter to a collector. @throws StartError where the certificate cannot be read. */
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

/** Counts what happens to ended spans. */
interface SpanFates {
  /** Queued, or in an export. */
  waiting: number;
  /** Queued, not yet exported. */
  queued: number;
  exported(spans: number): void;
  dropped(reason: 'queue_full' | 'export_failed', spans: number): void;
}

export function spanFates(metrics: Metrics, log: Log): SpanFates {
  const exportedTotal = metrics.counter({
    name: 'trace_spans_exported_total',
    help: 'Spans accepted by the collector.',
  });
  const droppedTotal = metrics.counter({
    name: 'trace_spans_dropped_total',
    help: 'Lost spans: the queue was full, or the export failed.',
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

/** Reports the result of each batch. Error messages of the exporter may contain the URL, so they are not logged. */
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

/** BatchSpanProcessor drops spans silently when full, so it is never given more than it holds. */
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
