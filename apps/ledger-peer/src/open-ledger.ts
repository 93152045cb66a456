import { LedgerNotOpenedError, openEmbeddedLedger, type EmbeddedLedger } from '@sealgate/ledger-embedded';
import { LedgerForbiddenError, LedgerUnavailableError, type LedgerHealth } from '@sealgate/ledger-port';
import { openedOrStartError, StartError } from '@sealgate/service-host';
import type { Database } from '@sealgate/storage';
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
}

const SETTLE_WITHIN_MS = 1000;
const CREDENTIALS_WITHIN_MS = 1000;
const NOT_MIGRATED = 'the database was not migrated for this version';

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
  ledgerMetrics,
}: OpenLedgerParts): Promise<OpenedLedger> {
  // Told in a sentence, before anything fails on a table that is not there. One that is away may yet come.
  const { problems } = await databaseCredentials(sql);
  if (problems.includes(NOT_MIGRATED)) throw new StartError(`${NOT_MIGRATED}: run migrate.js of this version first.`);
  const ledger = await openedOrStartError(LedgerNotOpenedError, () =>
    openEmbeddedLedger({
      config,
      sql,
      now,
      log,
      metrics,
      own,
      onResult: (result, of) => assets.onResult(result, of),
    }),
  );
  const assets = embeddedAssets({ ledger, sql, settleWithinMs: SETTLE_WITHIN_MS });
  await openChannels(ledger, config.mappings.targets);
  return {
    assets: ledgerMetrics.watch(assets),
    log: embeddedLog(ledger),
    administration: ledger.administration,
    credentials: () => databaseCredentials(sql),
    health: () => ledger.health(),
  };
}

/**
 * So that what is mapped can be listed and queried before its first asset. A database that is away is no reason to stop.
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
    if (!(error instanceof LedgerUnavailableError)) throw error;
  }
}

/** What opens the embedded ledger is its database: it answers, and holds what this version expects. */
async function databaseCredentials(sql: Database): Promise<Credentials> {
  const text = `SELECT to_regclass('peer.jobs') IS NOT NULL AND to_regprocedure('ledger.rights_v1(text)') IS NOT NULL AS known`;
  try {
    const [row] = await sql.query<{ known: boolean }>({ text }, { deadlineMs: CREDENTIALS_WITHIN_MS });
    const isKnown = row?.known === true;
    return { ok: isKnown, problems: isKnown ? [] : [NOT_MIGRATED] };
  } catch {
    return { ok: false, problems: ['the database of the ledger does not answer'] };
  }
}
