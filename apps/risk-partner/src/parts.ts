import { apiKeys, lastUsedWriter } from '@sealgate/api-keys';
import { openSurface, type SecretUse, type Surface } from '@sealgate/audit';
import { missingRights } from '@sealgate/ledger-embedded';
import { cursorCodec } from '@sealgate/paging';
import type { Basics as HostBasics, Own } from '@sealgate/service-host';
import { channelOfConfig, type RiskConfig } from './config.ts';
import { anchorStore, waitingAnchors } from './data/anchor-store.ts';
import { signingKeys } from './data/signing-keys.ts';
import { removeExpiredInvitations } from './data/people-store.ts';
import { removeOldSnapshots } from './data/partner-snapshots.ts';
import { unlinkedStore } from './data/unlinked-store.ts';
import { anchorDue } from './domain/anchor-evidence.ts';
import { unlinkedIdentities } from './domain/unlinked-identities.ts';
import { envelopeSigners } from './envelope-signers.ts';
import { openLedger, type AnchorLedger } from './open-ledger.ts';
import { migrations, SCHEMA } from './risk-migrations.ts';
import type { NoGrants } from './routes/keys.ts';

export const NAME = 'risk-partner';

export type Basics = HostBasics<RiskConfig>;
export type Parts = Awaited<ReturnType<typeof openParts>>;

const ANCHOR_EVERY_MS = 500;
const RETAIN_EVERY_MS = 3_600_000;
const WATCH_EVERY_MS = 10_000;
const PUBLISH_EVERY_MS = 10_000;
const UNLINKED_EVERY_MS = 2000;

/** Stored data that is verified with a server secret. Each process adds its own MACs to published keys. */
const SECRET_USES: readonly SecretUse[] = [
  {
    what: 'published signing keys',
    text: `SELECT split_part(macs, ':', 1) AS secret_id, count(*) AS rows, NULL AS last_at FROM risk.signing_keys
            WHERE macs <> '' AND position(' ' || $1 || ':' IN ' ' || macs) = 0 GROUP BY 1`,
  },
  { what: 'cursors of lists', keptMs: 86_400_000 },
];

/** Opens all resources; each registers its release, run in reverse order. */
export async function openParts(basics: Basics, own: Own) {
  const { config, now, newId, log, metrics } = basics;
  const channels = [channelOfConfig(config)];
  const surface = openSurface({
    ...basics,
    own,
    name: NAME,
    schema: SCHEMA,
    migrations,
    ...(config.ledgerDriver === 'embedded' ? { further: (sql) => missingRights(sql, channels) } : {}),
  });
  const { sql, look, background, database, repeat } = surface;
  const ledger = await openLedger({
    config,
    sql,
    look,
    background,
    now,
    log,
    metrics,
    own,
    whenReady: database.whenReady,
  });
  await database.problem(); // Logs the result at startup, even if no probe asks.
  const keys = apiKeys<NoGrants>({ sql, look, schema: SCHEMA, prefix: 'svc_', now, newId });
  const lastUsed = lastUsedWriter({ sql: background, schema: SCHEMA, now });
  own('last used', () => lastUsed.close());
  const people = { table: 'people', id: 'person_id', at: 'last_seen_at' };
  const lastSeen = lastUsedWriter({ sql: background, schema: SCHEMA, rows: people, now });
  own('last seen', () => lastSeen.close());
  const cursors = cursorCodec({ hasher: config.serverSecrets.derive('risk cursors'), now });
  const anchoring = runAnchoring(basics, surface, ledger);
  watchOutbox(basics, surface);
  repeat({ name: 'snapshot_retention', everyMs: RETAIN_EVERY_MS, work: () => removeOldSnapshots(background, now()) });
  repeat({
    name: 'invitation_retention',
    everyMs: RETAIN_EVERY_MS,
    work: () => removeExpiredInvitations(background, now()),
  });
  const signers = envelopeSigners(config.serverSecrets);
  const readKeys = signingKeys({
    sql,
    now,
    current: signers.map(({ jwk }) => jwk),
    macs: config.serverSecrets.derive('risk published keys'),
    onRefused: (count) => log.error('signing_keys_refused', { count }),
  });
  // Runs without requests too: a key must be published before its secret is removed.
  const publishing = { name: 'published keys', failure: 'signing_keys_unseen', level: 'debug' } as const;
  repeat({ ...publishing, everyMs: PUBLISH_EVERY_MS, work: () => readKeys() });
  const unlinked = unlinkedIdentities({ store: unlinkedStore({ sql: background, now }), now });
  if (surface.tokens.isConfigured)
    repeat({ name: 'unlinked_identities', everyMs: UNLINKED_EVERY_MS, work: () => unlinked.flush() });
  const secretWatch = surface.watchSecrets(SECRET_USES);
  return { ...surface, ledger, keys, lastUsed, lastSeen, cursors, anchoring, signers, readKeys, secretWatch, unlinked };
}

/** Writes approved fingerprints to the ledger in the background. */
function runAnchoring(
  { config, now, newId, log, metrics }: Basics,
  { background: sql, audit, repeat }: Surface,
  ledger: AnchorLedger,
) {
  const { ledgerNetwork: network } = config;
  const channel = channelOfConfig(config);
  const refused = metrics.counter({
    name: 'risk_anchors_refused_total',
    help: 'Anchors permanently refused by the ledger.',
    labels: {},
  });
  const ports = {
    store: anchorStore({ sql, audit, now, newId }),
    ledger,
    network,
    channel,
    now,
    onFailure: ({ ledgerRecordId }: { ledgerRecordId: string }, error: unknown) =>
      log.error('anchor_failed', {
        ledgerRecordId,
        reason: error instanceof Error ? (error.stack ?? '') : String(error),
      }),
    onRefused: ({ ledgerRecordId }: { ledgerRecordId: string }) => {
      refused.child({}).inc();
      log.error('anchor_refused', { ledgerRecordId, channel });
    },
  };
  let isOpen = false;
  const work = async (): Promise<void> => {
    if (!isOpen) await ledger.openChannel(network, channel);
    isOpen = true;
    // There may be more than one batch.
    if ((await anchorDue(ports)) > 0) loop.wake();
  };
  // Failures here are outages that heal; the anchors stay in the outbox.
  const waits = { name: 'anchoring', failure: 'anchoring_waits', level: 'debug' } as const;
  const loop = repeat({ ...waits, everyMs: ANCHOR_EVERY_MS, work });
  return loop;
}

/** Exports the length and age of the outbox. Every process reports the same values. */
function watchOutbox({ now, metrics }: Basics, { background: sql, repeat }: Surface): void {
  const waiting = metrics.gauge({
    name: 'risk_anchors_waiting',
    help: 'Approved fingerprints not yet in the ledger.',
    labels: {},
  });
  const oldest = metrics.gauge({
    name: 'risk_anchors_oldest_seconds',
    help: 'Age of the oldest fingerprint not yet in the ledger.',
    labels: {},
  });
  const work = async (): Promise<void> => {
    const { count, oldestSeconds } = await waitingAnchors(sql, now());
    waiting.set({}, count);
    oldest.set({}, oldestSeconds);
  };
  repeat({ name: 'outbox gauges', failure: 'outbox_unseen', level: 'debug', everyMs: WATCH_EVERY_MS, work });
}
