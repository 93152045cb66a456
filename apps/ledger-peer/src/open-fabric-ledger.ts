import {
  ChannelMap,
  ConnectionFileError,
  fabricObserver,
  openFabric,
  readConnectionFile,
  unsettledTransactions,
  type FabricConnection,
} from '@sealgate/ledger-fabric';
import { StartError } from '@sealgate/service-host';
import { fabricAssets, probesOf } from './data/fabric-assets.ts';
import type { OpenLedgerParts } from './ledger-parts.ts';
import type { OpenedLedger } from './open-ledger.ts';
import { SCHEMA } from './schema.ts';

const SETTLE_WITHIN_MS = 1000;

/**
 * The gateway of a Fabric network. Loaded only where LEDGER_DRIVER is fabric.
 * @throws StartError naming what is wrong with the connection file, or which mapped channel it does not hold.
 */
export function openFabricLedger({
  config,
  sql,
  now,
  log,
  metrics,
  own,
  ledgerMetrics,
}: OpenLedgerParts): OpenedLedger {
  const connection = connectionOf(config.fabricConfig ?? '');
  const channels = new ChannelMap(connection.channels);
  const homeless = config.mappings.targets.filter(({ channel }) => channels.find(channel) === undefined);
  if (homeless.length > 0) {
    const names = [...new Set(homeless.map(({ channel }) => channel))].join(', ');
    throw new StartError(`FABRIC_CONFIG: no Fabric channel holds what MAPPING_FILE maps to: ${names}.`);
  }
  const observer = fabricObserver(metrics, log, () => client.state());
  const client = openFabric({ connection, journal: { sql, schema: SCHEMA }, now, observer });
  own('fabric', () => client.close());
  const assets = fabricAssets({ client, channels, settleWithinMs: SETTLE_WITHIN_MS });
  const probes = probesOf(channels, config.mappings.targets);
  return {
    assets: ledgerMetrics.watch(assets),
    log: undefined,
    administration: undefined,
    credentials: () => Promise.resolve(client.credentials()),
    health: () => client.health(probes),
    waiting: () => unsettledTransactions(sql, SCHEMA),
  };
}

function connectionOf(file: string): FabricConnection {
  try {
    return readConnectionFile(file);
  } catch (error) {
    if (error instanceof ConnectionFileError) throw new StartError(`FABRIC_CONFIG: ${error.message}`, { cause: error });
    throw error;
  }
}
