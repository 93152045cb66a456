import type { WaitingItem } from '@sealgate/http';
import { LedgerNotOpenedError, openEmbeddedLedger, type EmbeddedLedger } from '@sealgate/ledger-embedded';
import { LedgerForbiddenError, type LedgerHealth } from '@sealgate/ledger-port';
import { openedOrStartError, StartError } from '@sealgate/service-host';
import { embeddedAssets, embeddedLog } from './data/embedded-assets.ts';
import type { AssetLedger } from './domain/asset-ledger.ts';
import type { PublicLog } from './domain/read-assets.ts';
import type { OpenLedgerParts } from './ledger-parts.ts';
import type { Credentials } from './routes/health.ts';

/** A ledger as this surface needs it, whichever driver stands behind it. */
export interface OpenedLedger {
  readonly assets: AssetLedger;
  /** Undefined where the ledger has no public log. */
  readonly log: PublicLog | undefined;
  /** For the admin listener; undefined where the ledger is not ours to administer. */
  readonly administration: EmbeddedLedger | undefined;
  credentials(): Promise<Credentials>;
  /** Asks the ledger; ends within a second. */
  health(): Promise<LedgerHealth>;
  /** What is written and not yet done with. Rejects with LedgerUnavailableError, or as its database does. */
  waiting(): Promise<WaitingItem>;
}

const SETTLE_WITHIN_MS = 1000;

/**
 * Opens the ledger that the configuration names. The Fabric driver is loaded only where it is that one.
 * @throws StartError for what an operator can mend.
 */
export async function openLedger(parts: OpenLedgerParts): Promise<OpenedLedger> {
  if (parts.config.ledgerDriver === 'embedded') return openEmbedded(parts);
  const { openFabricLedger } = await import('./open-fabric-ledger.ts');
  return openFabricLedger(parts);
}

async function openEmbedded({
  config,
  sql,
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
    log: embeddedLog(ledger, config.ledgerOrigin),
    administration: ledger.administration,
    // What opens the embedded ledger is its database.
    async credentials() {
      const problem = await database.problem();
      return { ok: problem === undefined, problems: problem === undefined ? [] : [problem] };
    },
    health: () => ledger.health(),
    waiting: () => ledger.administration.exploration.unsigned(),
  };
}

/**
 * So that what is mapped can be listed and queried before its first asset.
 * @throws StartError where the role may not write to what is mapped.
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
