import { GatewayNotOpenedError, openRecordsLedger } from '@sealgate/ledger-fabric';
import { openedOrStartError } from '@sealgate/service-host';
import { writeFabricEvent } from './data/fabric-events.ts';
import type { OpenedLedger, OpenLedgerOptions } from './open-ledger.ts';
import { SCHEMA } from './schema.ts';

/**
 * Our contract on a Fabric network, with journal and claims in this surface's database. Loaded only where LEDGER_DRIVER is
 * fabric. A transaction counts as settled when its event is written, so a crash in between costs no event.
 *
 * @throws StartError naming what is wrong with the connection file.
 */
export async function openFabricLedger({ onSettled, ...options }: OpenLedgerOptions): Promise<OpenedLedger> {
  const { sql, now, log } = options;
  const ledger = await openedOrStartError(GatewayNotOpenedError, async () =>
    openRecordsLedger({
      ...options,
      schema: SCHEMA,
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
    }),
  );
  return {
    append: (unit) => ledger.append(unit),
    findConflict: (unit) => ledger.findConflict(unit),
    holdsChannel: (channel) => Promise.resolve(ledger.channels.find(channel) !== undefined),
    openChannel: (network, channel) => ledger.openChannel(network, channel),
    health: () => ledger.health(),
    waiting: () => ledger.waiting(),
    // What a caller may do lies in PostgreSQL, and the transaction in Fabric.
    confirmsGuards: false,
    administration: undefined,
  };
}
