import {
  LedgerNotOpenedError,
  openEmbeddedLedger,
  type AppendFunctions,
  type OpenLedgerOptions as OpenEmbeddedOptions,
} from '@sealgate/ledger-embedded';
import type { LedgerAdministration, WaitingItem } from '@sealgate/admin-api';
import type { LedgerAppender, LedgerHealth, LedgerReader, UnitResult } from '@sealgate/ledger-port';
import { openedOrStartError } from '@sealgate/service-host';
import type { GatewayConfig } from './config.ts';
import { writeFabricEvent, writeLateEvent } from './data/write-events.ts';
import type { PlacesOf } from './domain/read-events.ts';
import { SCHEMA } from './ingest-migrations.ts';

/** The functions write the events of writes in the transaction of their records. */
export const APPEND_FUNCTIONS: AppendFunctions = {
  ofChannel: `${SCHEMA}.append`,
  ofChannels: `${SCHEMA}.append_many`,
  takesEvents: true,
  takesGuards: true,
};

/** The ledger as this surface uses it, independent of the driver. */
interface OpenedLedger extends LedgerAppender {
  /** Whether a network may use the channel with this full name. Rejects with LedgerUnavailableError. */
  holdsChannel(channel: string): Promise<boolean>;
  openChannel(network: string, channel: string): Promise<void>;
  health(): Promise<LedgerHealth>;
  /** Records without a checkpoint, or unsettled ones. Rejects with LedgerUnavailableError, or as its database does. */
  waiting(): Promise<WaitingItem>;
  /** See `RecordPlace`; undefined on Fabric. */
  readonly placesOf: PlacesOf | undefined;
  /** Whether a unit may have a guard: see `AppendUnit`. */
  readonly confirmsGuards: boolean;
  /** For the admin listener; undefined on Fabric, which is not administered here. */
  readonly administration: LedgerAdministration | undefined;
  /** Single records, for the admin listener. */
  readonly records: Pick<LedgerReader, 'read' | 'prove'>;
}

interface OpenLedgerOptions extends Omit<OpenEmbeddedOptions, 'config' | 'appendFunctions' | 'onResult'> {
  readonly config: GatewayConfig;
  /** Counts the records that this process added to the ledger. */
  readonly stored: { inc(amount: number): void };
}

/**
 * Opens the ledger of LEDGER_DRIVER. The Fabric driver is imported only if it is used.
 *
 * @throws StartError for faults that an operator can correct.
 */
export async function openLedger(options: OpenLedgerOptions): Promise<OpenedLedger> {
  return options.config.ledgerDriver === 'embedded' ? openEmbedded(options) : openFabricLedger(options);
}

/**
 * The ledger in this surface's own database; an integrator runs in processes that are configured for it. Appends go
 * through this surface's own SQL function, so the event of a request is in the transaction of its records.
 */
async function openEmbedded({ stored, ...options }: OpenLedgerOptions): Promise<OpenedLedger> {
  const { sql, now, log } = options;
  const ledger = await openedOrStartError(LedgerNotOpenedError, () =>
    openEmbeddedLedger({
      ...options,
      appendFunctions: APPEND_FUNCTIONS,
      onResult(result, { unit, isLate }) {
        stored.inc(newRecordsOf(result));
        if (isLate) writeLateEvent(sql, unit, result, Math.floor(now())).catch(() => log.warn('late_event_lost'));
      },
    }),
  );
  return Object.assign(ledger, {
    // False for a channel that another surface owns: the gateway may not append to it.
    holdsChannel: ledger.mayAppend,
    waiting: () => ledger.administration.exploration.unsigned(),
    // With the operator's rights: the role of this service may append and not read.
    placesOf: ledger.administration.exploration.placesOf,
    confirmsGuards: true,
    records: ledger.administration,
  });
}

/**
 * The records contract on a Fabric network; journal and claims are in this surface's database. A transaction counts as
 * settled once its event is written, so a crash in between loses no event.
 *
 * @throws StartError naming what is wrong with the connection file.
 */
async function openFabricLedger({ stored, ...options }: OpenLedgerOptions): Promise<OpenedLedger> {
  const { sql, now, log } = options;
  const { GatewayNotOpenedError, openRecordsLedger } = await import('@sealgate/ledger-fabric');
  const ledger = await openedOrStartError(GatewayNotOpenedError, async () =>
    openRecordsLedger({
      ...options,
      schema: SCHEMA,
      async onResult(result, { unit }) {
        try {
          await writeFabricEvent(sql, unit, result, Math.floor(now()));
        } catch (error) {
          // A rejected unit is not in a transaction and is not reported again; its sender receives the refusal.
          if ('records' in result) throw error;
          log.warn('event_lost', { reason: String(error) });
        }
        stored.inc(newRecordsOf(result));
      },
    }),
  );
  return Object.assign(ledger, {
    holdsChannel: async (channel: string) => ledger.channels.find(channel) !== undefined,
    // Keys and sources are in PostgreSQL, so the Fabric transaction cannot confirm them.
    confirmsGuards: false,
    administration: undefined,
    records: ledger,
    placesOf: undefined,
  });
}

function newRecordsOf(result: UnitResult): number {
  return result.outcome === 'written' ? result.records.filter(({ existing }) => !existing).length : 0;
}
