import type { SecretWatch, Surface } from '@sealgate/audit';
import type { SecretBox } from '@sealgate/auth';
import { InFlight } from '@sealgate/idempotency';
import type { LedgerAppender } from '@sealgate/ledger-port';
import type { Log, Metrics } from '@sealgate/observability';
import type { Own } from '@sealgate/service-host';
import type { GatewayConfig } from './config.ts';
import { deliveriesStore, deliveryCounts } from './data/deliveries-store.ts';
import { liveSources } from './data/live-callers.ts';
import { resealSecrets, sourcesStore } from './data/sources-store.ts';
import type { EventStore } from './domain/read-events.ts';
import type { ReadBody } from './domain/read-submission.ts';
import { pathOfSource } from './domain/source.ts';
import { takeDelivery } from './domain/take-delivery.ts';
import { FailingSources, watchedDeliveries, type DeliveryReport } from './domain/watched-deliveries.ts';
import type { IngestMetrics } from './ingest-metrics.ts';

export interface OpenSourcesOptions extends Pick<Surface, 'sql' | 'repeat'> {
  readonly config: GatewayConfig;
  readonly ledger: LedgerAppender;
  readonly events: EventStore;
  readonly read: ReadBody;
  readonly secretWatch: SecretWatch;
  readonly counters: IngestMetrics;
  readonly newId: (prefix: string) => string;
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly own: Own;
}

/** How long a concurrent repeat of a delivery waits for the first one: a sender would take a 409 for a failure. */
const IN_FLIGHT_WAIT_MS = 5000;
const SEAL_AGAIN_EVERY_MS = 60_000;

/** Opens what deliveries to sources need: look-up, verification, counts, and the store of sources. */
export function openSources(options: OpenSourcesOptions) {
  const { config, sql, now, log, counters, newId, own } = options;
  const { serverSecrets } = config;
  const box: SecretBox = serverSecrets.sealing('source secrets');
  const live = liveSources({
    sql,
    box,
    deadlineMs: 1000,
    now,
    onSealed: (sourceId, reason) => log.error('source_secret_sealed', { sourceId, reason }),
  });
  const counts = deliveryCounts(sql, (error) => log.warn('delivery_counts_failed', { reason: String(error) }));
  own('delivery counts', () => counts.close());
  const deliveries = deliveriesStore(sql, { events: options.events, now });
  const failing = new FailingSources({
    now,
    onFailing: ({ sourceId, scheme }) => log.warn('source_signature_failed', { sourceId, scheme }),
  });
  options.metrics.gauge({
    name: 'sealgate_ingest_failing_sources',
    aggregator: 'max',
    help: 'Sources whose recent signatures all failed, as seen by this process.',
    labels: {},
    collect: (gauge) => gauge.set({}, failing.count()),
  });
  const onEnd = ({ source, requestId, end, code }: DeliveryReport): void => {
    counters.delivered(source.scheme, end);
    const outcome = end === 'replayed' ? 'replayed' : code === undefined ? undefined : 'refused';
    if (outcome !== undefined) counts.add({ sourceId: source.sourceId, outcome, code, requestId, atMs: now() });
  };
  const take = takeDelivery({
    ledger: options.ledger,
    inFlight: new InFlight({ waitMs: IN_FLIGHT_WAIT_MS }),
    fingerprints: serverSecrets.derive('ingest fingerprints'),
    recordIds: serverSecrets.derive('ingest record ids'),
    read: options.read,
    newEventId: () => newId('evt_'),
    recordRejected: (event) => deliveries.recordRejected(event),
    onVouched: (source, holds) => failing.vouched(source, holds),
    now,
  });
  options.repeat({
    name: 'source secrets',
    everyMs: SEAL_AGAIN_EVERY_MS,
    failure: 'source_secrets_unsealed',
    level: 'debug',
    // Once all processes use the new server secret, re-encrypt secrets of sources that an earlier one encrypted.
    async work() {
      if (!(await options.secretWatch.isSettled())) return;
      const sealed = await resealSecrets(sql, box);
      if (sealed > 0) log.info('source_secrets_sealed_again', { sources: sealed });
    },
  });
  return {
    find: live.find,
    lately: live.lately,
    takeDelivery: watchedDeliveries(take, onEnd),
    onFlooded: (path: string) => {
      const caller = live.lately(path.slice(pathOfSource('').length));
      // The scheme of a source that was not looked up for ten seconds is not known, so its flood is not counted.
      if (caller !== undefined) onEnd({ source: caller.source, requestId: '', end: 'flooded', code: 'RATE_LIMITED' });
    },
    deliveries,
    store: sourcesStore(sql),
    seal: (value: string, sourceId: string) => box.seal(value, sourceId),
  };
}
