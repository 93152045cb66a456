import { CATALOGUE, type ErrorCode } from '@sealgate/errors';
import type { UnitResult } from '@sealgate/ledger-port';
import type { Metrics } from '@sealgate/observability';
import { SCHEME_NAMES, type SchemeName } from './domain/source.ts';

export interface IngestMetrics {
  /** A write was answered 200. */
  accepted(replayed: boolean): void;
  /** A request was refused. */
  refused(code: ErrorCode): void;
  /** The ledger said what became of a unit. */
  settled(result: UnitResult): void;
  pinged(): void;
  /** A delivery to a source was answered. */
  delivered(scheme: SchemeName, outcome: DeliveryOutcome): void;
}

/** `unsigned`: 401. `flooded`: 429 without a look at the signature. `limited`: 429 by the limits. `failed`: 5xx. */
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
 * What an operator can hold against the ledger: `ingest_stored_records_total` of all processes since their start is how
 * many records the ledger gained, and every answer of a write is in `ingest_accepted_total`.
 */
export function ingestMetrics(metrics: Metrics): IngestMetrics {
  const deliveries = metrics.counter({
    name: 'sealgate_ingest_deliveries_total',
    help: 'Deliveries to sources, by the scheme of the source and what became of them.',
    labels: { scheme: SCHEME_NAMES, outcome: DELIVERY_OUTCOMES },
  });
  const conflicts = metrics
    .counter({
      name: 'sealgate_ingest_delivery_conflicts_total',
      help: 'Deliveries answered 200 that wrote nothing, because their id was there with other content.',
      labels: {},
    })
    .child({});
  const accepted = metrics
    .counter({ name: 'ingest_accepted_total', help: 'Writes answered 200, replays included.', labels: {} })
    .child({});
  const replayed = metrics
    .counter({
      name: 'ingest_replayed_total',
      help: 'Writes answered with the answer of an earlier request.',
      labels: {},
    })
    .child({});
  const stored = metrics
    .counter({
      name: 'ingest_stored_records_total',
      help: 'Records that the ledger gained through this process.',
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
