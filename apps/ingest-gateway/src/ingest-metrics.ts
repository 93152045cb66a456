import { CATALOGUE, type ErrorCode } from '@sealgate/errors';
import type { Metrics } from '@sealgate/observability';
import { SCHEME_NAMES, type SchemeName } from './domain/source.ts';
import { REFUSAL_REASONS, type RefusalReason } from './domain/refusals.ts';

export type IngestMetrics = ReturnType<typeof ingestMetrics>;

/** `unsigned`: 401. `flooded`: 429 without a signature check. `limited`: 429 by the rate limits. `failed`: 5xx. */
const DELIVERY_OUTCOMES = [
  'written',
  'replayed',
  'conflict',
  'answered',
  'unsigned',
  'flooded',
  'limited',
  'refused',
  'failed',
] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

/**
 * Metrics that can be reconciled with the ledger: the sum of `ingest_stored_records_total` over all processes is the
 * number of records that the ledger gained, and `ingest_accepted_total` counts every 200 of a write.
 */
export function ingestMetrics(metrics: Metrics) {
  const deliveries = metrics.counter({
    name: 'sealgate_ingest_deliveries_total',
    help: 'Deliveries to sources, by scheme and outcome.',
    labels: { scheme: SCHEME_NAMES, outcome: DELIVERY_OUTCOMES },
  });
  const counter = (name: string, help: string) => metrics.counter({ name, help, labels: {} }).child({});
  const conflicts = counter(
    'sealgate_ingest_delivery_conflicts_total',
    'Deliveries answered 200 that wrote nothing, because their id exists with other content.',
  );
  const accepted = counter('ingest_accepted_total', 'Writes answered 200, replays included.');
  const replayed = counter('ingest_replayed_total', 'Writes answered with the stored answer of an earlier request.');
  const stored = counter('ingest_stored_records_total', 'Records that this process added to the ledger.');
  const pings = counter('ingest_pings_total', 'Pings answered 200.');
  const refused = metrics.counter({
    name: 'ingest_refused_total',
    help: 'Requests refused, by problem code.',
    labels: { code: Object.keys(CATALOGUE) as ErrorCode[] },
  });
  const reasons = metrics.counter({
    name: 'sealgate_ingest_refused_deliveries_total',
    help: 'Refused deliveries by reason; unknown-source: a path that names no enabled source.',
    labels: { reason: [...REFUSAL_REASONS, 'unknown-source'] },
  });
  const dropped = metrics.counter({
    name: 'sealgate_ingest_refusals_dropped_total',
    help: 'Refused deliveries that are missing in the list of their source, or whose body was not kept.',
    labels: { what: ['row', 'body'] },
  });
  return {
    deliveryRefused: (reason: RefusalReason | 'unknown-source'): void => reasons.inc({ reason }),
    refusalsDropped: (what: 'row' | 'body', count: number): void => dropped.inc({ what }, count),
    accepted,
    replayed,
    stored,
    pings,
    refused: (code: ErrorCode): void => refused.inc({ code }),
    /** A delivery to a source was answered. */
    delivered(scheme: SchemeName, outcome: DeliveryOutcome): void {
      deliveries.inc({ scheme, outcome });
      if (outcome === 'conflict') conflicts.inc();
    },
  };
}
