import type { WaitingItem } from '@sealgate/admin-api';
import { type EmbeddedLedger, LedgerNotOpenedError, openEmbeddedLedger } from '@sealgate/ledger-embedded';
import { LedgerForbiddenError, type LedgerHealth } from '@sealgate/ledger-port';
import type { Log, Metrics } from '@sealgate/observability';
import { openedOrStartError, type Own, StartError } from '@sealgate/service-host';
import { reasonOf, type Database, type DatabaseCheck } from '@sealgate/storage';
import type { PeerConfig } from './config.ts';
import { embeddedAssets, embeddedLog } from './data/embedded-assets.ts';
import { embeddedEvents } from './data/embedded-events.ts';
import type { AssetLedger } from './domain/asset-ledger.ts';
import type { Signers } from './domain/caller.ts';
import type { EventSource } from './domain/event-source.ts';
import type { ChannelTrustPorts } from './domain/channel-trust.ts';
import type { FabricBlocks } from './domain/fabric-explorer.ts';
import type { ReadTransactionPorts } from './domain/read-transaction.ts';
import type { PublicLog } from './domain/public-log.ts';
import type { LedgerMetrics } from './peer-metrics.ts';
import type { Credentials } from './routes/health.ts';

/** A ledger as this surface needs it, for any driver. */
export interface OpenedLedger {
  readonly assets: AssetLedger;
  /** Undefined for a ledger without identities. */
  readonly signers: Signers | undefined;
  readonly events: EventSource;
  /** Undefined for a ledger without a public log. */
  readonly log: PublicLog | undefined;
  /** For the admin listener; undefined if the ledger is administered elsewhere. */
  readonly administration: EmbeddedLedger | undefined;
  /** For the admin listener; undefined for a ledger without organisations. */
  readonly readTrust?: ChannelTrustPorts['readTrust'];
  /** For the admin listener; undefined for a ledger without blocks. */
  readonly blocks?: FabricBlocks;
  /** Undefined for a ledger without blocks. */
  readonly findTransaction?: ReadTransactionPorts['findTransaction'];
  credentials(): Promise<Credentials>;
  /** Checks the ledger; ends within a second. */
  health(): Promise<LedgerHealth>;
  /** Written but unfinished work. Rejects with LedgerUnavailableError, or with the error of its database. */
  waiting(): Promise<WaitingItem>;
}

const SETTLE_WITHIN_MS = 1000;
/** Between two looks for new records of a channel whose events somebody reads. */
const LOOK_FOR_EVENTS_EVERY_MS = 500;

/**
 * Opens the configured ledger. The Fabric driver is loaded only if it is configured.
 * @throws StartError for errors an operator can fix.
 */
export async function openLedger(parts: OpenLedgerParts): Promise<OpenedLedger> {
  if (parts.config.ledgerDriver === 'embedded') return openEmbedded(parts);
  const { openFabricLedger } = await import('./open-fabric-ledger.ts');
  return openFabricLedger(parts);
}

async function openEmbedded({
  config,
  sql,
  look,
  background,
  now,
  log,
  metrics,
  own,
  database,
  ledgerMetrics,
}: OpenLedgerParts): Promise<OpenedLedger> {
  const ledger = await openedOrStartError(LedgerNotOpenedError, () =>
    openEmbeddedLedger({
      config,
      sql,
      look,
      background,
      now,
      log,
      metrics,
      own,
      whenReady: database.whenReady,
      onResult: (result, of) => assets.onResult(result, of),
    }),
  );
  const assets = embeddedAssets({ ledger, sql, settleWithinMs: SETTLE_WITHIN_MS });
  await database.whenReady(() => openChannels(ledger, config.mappings.targets));
  return {
    assets: ledgerMetrics.watch(assets),
    signers: undefined,
    events: embeddedEvents({
      ledger,
      mappings: config.mappings,
      everyMs: LOOK_FOR_EVENTS_EVERY_MS,
      onFailure: (error) => log.warn('events_not_read', { reason: reasonOf(error) }),
    }),
    log: embeddedLog(ledger, config.ledgerOrigin),
    administration: ledger.administration,
    // The credentials of the embedded ledger are those of its database.
    async credentials() {
      const problem = await database.problem();
      return { ok: problem === undefined, problems: problem === undefined ? [] : [problem] };
    },
    health: () => ledger.health(),
    waiting: () => ledger.administration.exploration.unsigned(),
  };
}

/**
 * Creates the mapped channels, so that they can be listed and queried before their first asset.
 * @throws StartError if the role may not write to a mapped channel.
 */
async function openChannels(
  ledger: EmbeddedLedger,
  targets: readonly { readonly network: string; readonly channel: string }[],
): Promise<void> {
  try {
    for (const { network, channel } of targets) await ledger.openChannel(network, channel);
  } catch (error) {
    if (error instanceof LedgerForbiddenError) {
      throw new StartError(`${error.message} Run migrate.js with the MAPPING_FILE of this service.`, { cause: error });
    }
    throw error;
  }
}

/** Arguments of every driver. */
export interface OpenLedgerParts {
  readonly config: PeerConfig;
  readonly sql: Database;
  readonly look: Database;
  readonly background: Database;
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly ledgerMetrics: LedgerMetrics;
  readonly own: Own;
  readonly database: DatabaseCheck;
}
