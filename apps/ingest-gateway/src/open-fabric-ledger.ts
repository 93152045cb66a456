import {
  ChannelMap,
  ConnectionFileError,
  fabricLedger,
  fabricObserver,
  openFabric,
  readConnectionFile,
  unsettledTransactions,
  type FabricClient,
  type FabricConnection,
  type FabricLedger,
} from '@sealgate/ledger-fabric';
import { StartError } from '@sealgate/service-host';
import { writeFabricEvent } from './data/fabric-events.ts';
import type { OpenedLedger, OpenLedgerOptions } from './open-ledger.ts';
import { SCHEMA } from './schema.ts';

/**
 * The gateway of a Fabric network, with journal and claims in this surface's database. Loaded only where LEDGER_DRIVER is
 * fabric. A transaction counts as settled when its event is written, so a crash in between costs no event.
 *
 * @throws StartError naming what is wrong with the connection file.
 */
export function openFabricLedger({ config, sql, now, log, metrics, own, onSettled }: OpenLedgerOptions): OpenedLedger {
  const connection = connectionOf(config.fabricConfig ?? '');
  const channels = new ChannelMap(connection.channels);
  const observer = fabricObserver(metrics, log, () => client.state());
  const client: FabricClient = openFabric({
    connection,
    journal: { sql, schema: SCHEMA },
    now,
    observer,
    onSettlement: (settlement, about) => ledger.onSettlement(settlement, about),
  });
  own('fabric', () => client.close());
  const ledger: FabricLedger = fabricLedger({
    client,
    sql,
    schema: SCHEMA,
    channels: connection.channels,
    now,
    answerWithinMs: connection.deadlinesMs.answer,
    async onResult(result, { unit }) {
      try {
        await writeFabricEvent(sql, unit, result, Math.floor(now()));
      } catch (error) {
        // What is in no transaction nobody tells again; its sender has the refusal itself.
        if ('records' in result) throw error;
        log.warn('event_lost', { reason: String(error) });
      }
      onSettled(result);
    },
  });
  own('ledger', () => ledger.drain());
  return {
    append: (unit) => ledger.append(unit),
    findConflict: (unit) => ledger.findConflict(unit),
    holdsChannel: (channel) => Promise.resolve(channels.find(channel) !== undefined),
    openChannel: (network, channel) => ledger.openChannel(network, channel),
    health: () => ledger.health(),
    waiting: () => unsettledTransactions(sql, SCHEMA),
    // What a caller may do lies in PostgreSQL, and the transaction in Fabric.
    confirmsGuards: false,
    administration: undefined,
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
