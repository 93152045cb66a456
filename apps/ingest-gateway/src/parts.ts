import { apiKeys, lastUsedWriter } from '@sealgate/api-keys';
import { openSurface, type SecretUse } from '@sealgate/audit';
import { missingRights } from '@sealgate/ledger-embedded';
import type { Own } from '@sealgate/service-host';
import type { GatewayConfig } from './config.ts';
import { ingestRemovals } from './data/event-retention.ts';
import { onceEach } from './data/event-rows.ts';
import { eventsStore } from './data/events-store.ts';
import { pingEvents } from './data/write-events.ts';
import { sealedSecrets } from './data/sources-store.ts';
import { MOST_BYTES } from './domain/body-budget.ts';
import type { KeyGrants } from './domain/key.ts';
import { readBody, readingPlaces } from './domain/read-body.ts';
import { ingestMetrics } from './ingest-metrics.ts';
import { migrations, SCHEMA } from './ingest-migrations.ts';
import { openLedger } from './open-ledger.ts';
import { openReading } from './open-reading.ts';
import { openSources } from './open-sources.ts';
import type { Basics } from './open-refusals.ts';

export const NAME = 'ingest-gateway';

export type Parts = Awaited<ReturnType<typeof openParts>>;

const DAY_MS = 86_400_000;
/** What depends on a server secret after it was used. Claims are in the ledger, where this role cannot count them. */
const secretUses = ({ claimRetentionDays }: GatewayConfig): readonly SecretUse[] => [
  sealedSecrets,
  { what: 'claims on Idempotency-Keys', keptMs: claimRetentionDays * DAY_MS },
  { what: 'cursors of lists', keptMs: DAY_MS },
  { what: 'kept bodies of refused deliveries', keptMs: 3 * DAY_MS },
];

/** Opens all resources; each registers its release, run in reverse order. */
export async function openParts(basics: Basics, own: Own) {
  const { config, now, newId, log, metrics } = basics;
  const isEmbedded = config.ledgerDriver === 'embedded';
  const surface = openSurface({
    ...basics,
    own,
    name: NAME,
    schema: SCHEMA,
    migrations,
    // Networks and their channels are created at run time, so rights are checked for no particular channel.
    ...(isEmbedded ? { further: (sql) => missingRights(sql, ['']) } : {}),
  });
  const { sql, look, background, database } = surface;
  const counters = ingestMetrics(metrics);
  const { whenReady } = database;
  const ledger = await openLedger({
    config,
    sql,
    look,
    background,
    now,
    log,
    metrics,
    own,
    whenReady,
    stored: counters.stored,
  });
  const reading = openReading({ bodyMaxBytes: Math.max(config.bodyMaxBytes, MOST_BYTES), log, metrics, own });
  const keys = apiKeys<KeyGrants>({ sql, look, schema: SCHEMA, prefix: 'ingest_', now, newId });
  const lastUsed = lastUsedWriter({ sql: background, schema: SCHEMA, now });
  own('last used', () => lastUsed.close());
  const pings = pingEvents({ sql, onDropped: (count) => log.warn('ping_events_dropped', { count }) });
  own('ping events', () => pings.flush());
  const { eventRetentionDays: eventDays, claimRetentionDays } = config;
  const claimDays = isEmbedded ? claimRetentionDays : undefined;
  surface.retain(ingestRemovals(background, { eventDays, claimDays }, now));
  await database.problem(); // Logs the result at startup even if no probe asks.
  const secretWatch = surface.watchSecrets(secretUses(config));
  const read = readingPlaces({ readHere: readBody, readApart: reading.read, now });
  const events = eventsStore(
    look,
    onceEach(({ eventId, columns }) => log.error('event_unreadable', { eventId, columns })),
    ledger.placesOf,
  );
  const sources = openSources({ ...basics, ...surface, ledger, events, read, secretWatch, counters, own });
  return { ...surface, counters, ledger, read, events, keys, lastUsed, pings, secretWatch, sources };
}
