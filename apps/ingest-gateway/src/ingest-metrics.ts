import { CATALOGUE, type ErrorCode } from '@sealgate/errors';
import type { UnitResult } from '@sealgate/ledger-port';
import type { Metrics } from '@sealgate/observability';
import { SCHEME_NAMES, type SchemeName } from './domain/source.ts';

export interface IngestMetrics {
  /** A write was answered 200. */
  accepted(replayed: boolean): void;
  /** A request was refused. */
  refused(code: ErrorCode): void;
  /** The ledger settled a unit. */
  settled(result: UnitResult): void;
  pinged(): void;
  /** A delivery to a source was answered. */
  delivered(scheme: SchemeName, outcome: DeliveryOutcome): void;
}

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
export function ingestMetrics(metrics: Metrics): IngestMetrics {
  const deliveries = metrics.counter({
    name: 'sealgate_ingest_deliveries_total',
    help: 'Deliveries to sources, by scheme and outcome.',
    labels: { scheme: SCHEME_NAMES, outcome: DELIVERY_OUTCOMES },
  });
  const conflicts = metrics
    .counter({
      name: 'sealgate_ingest_delivery_conflicts_total',
      help: 'Deliveries answered 200 that wrote nothing, because their id exists with other content.',
      labels: {},
    })
    .child({});
  const accepted = metrics
    .counter({ name: 'ingest_accepted_total', help: 'Writes answered 200, replays included.', labels: {} })
    .child({});
  const replayed = metrics
    .counter({
      name: 'ingest_replayed_total',
      help: 'Writes answered with the stored answer of an earlier request.',
      labels: {},
    })
    .child({});
  const stored = metrics
    .counter({
      name: 'ingest_stored_records_total',
      help: 'Records that this process added to the ledger.',
      labels: {},
    })
    .child({});
  const pings = metrics.counter({ name: 'ingest_pings_total', help: 'Pings answered 200.', labels: {} }).child({});
  const refused = metrics.counter({
    name: 'ingest_refused_total',
    help: 'Requests refused, by problem code.',
    labels: { code: Object.keys(CATALOGUE) as ErrorCode[] },
  });
  return {
    accepted(wasReplayed) {
      accepted.inc();
      if (wasReplayed) replayed.inc();
    },
    refused: (code) => refused.inc({ code }),
    settled(result) {
      if (result.outcome === 'written') stored.inc(result.records.filter(({ existing }) => !existing).length);
    },
    pinged: () => pings.inc(),
    delivered(scheme, outcome) {
      deliveries.inc({ scheme, outcome });
      if (outcome === 'conflict') conflicts.inc();
    },
  };
}
