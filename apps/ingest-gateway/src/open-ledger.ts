import {
  LedgerNotOpenedError,
  openEmbeddedLedger,
  type AppendFunctions,
  type OpenLedgerOptions as OpenEmbeddedOptions,
} from '@sealgate/ledger-embedded';
import type { LedgerAdministration, WaitingItem } from '@sealgate/http';
import type { LedgerAppender, LedgerHealth, UnitResult } from '@sealgate/ledger-port';
import { openedOrStartError } from '@sealgate/service-host';
import type { GatewayConfig } from './config.ts';
import { writeLateEvent } from './data/late-events.ts';
import { SCHEMA } from './schema.ts';

/** The events of writes are in the transaction of their records. */
export const APPEND_FUNCTIONS: AppendFunctions = {
  ofChannel: `${SCHEMA}.append_v3`,
  ofChannels: `${SCHEMA}.append_many_v2`,
  takesBeside: true,
  takesGuards: true,
};

/** A ledger as this surface needs it, whichever driver stands behind it. */
export interface OpenedLedger extends LedgerAppender {
  /** Whether it has a place for a channel of this full name. Rejects with LedgerUnavailableError. */
  holdsChannel(channel: string): Promise<boolean>;
  openChannel(network: string, channel: string): Promise<void>;
  health(): Promise<LedgerHealth>;
  /** What is written and not yet done with. Rejects with LedgerUnavailableError, or as its database does. */
  waiting(): Promise<WaitingItem>;
  /** Whether a unit may have a guard: see `AppendUnit`. */
  readonly confirmsGuards: boolean;
  /** For the admin listener; undefined where the ledger is not ours to administer. */
  readonly administration: LedgerAdministration | undefined;
}

export interface OpenLedgerOptions extends Omit<OpenEmbeddedOptions, 'config' | 'appendFunctions' | 'onResult'> {
  readonly config: GatewayConfig;
  /** Told what became of each unit. */
  readonly onSettled: (result: UnitResult) => void;
}

/**
 * Opens the ledger that the configuration names. The Fabric driver is loaded only where it is that one.
 *
 * @throws StartError for what an operator can mend.
 */
export async function openLedger(options: OpenLedgerOptions): Promise<OpenedLedger> {
  if (options.config.ledgerDriver === 'embedded') return openEmbedded(options);
  const { openFabricLedger } = await import('./open-fabric-ledger.ts');
  return openFabricLedger(options);
}

/**
 * The ledger in this surface's own database, with an integrator in the processes that run one. Appending goes through
 * this surface's own function, so that the event of a request is in the transaction of its records.
 */
async function openEmbedded({ onSettled, ...options }: OpenLedgerOptions): Promise<OpenedLedger> {
  const { sql, now, log } = options;
  const ledger = await openedOrStartError(LedgerNotOpenedError, () =>
    openEmbeddedLedger({
      ...options,
      appendFunctions: APPEND_FUNCTIONS,
      onResult(result, { unit, isLate }) {
        onSettled(result);
        if (isLate) writeLateEvent(sql, unit, result, Math.floor(now())).catch(() => log.warn('late_event_lost'));
      },
    }),
  );
  return {
    append: (unit) => ledger.append(unit),
    findConflict: (unit) => ledger.findConflict(unit),
    // Not one that another surface owns: nothing of the gateway's could be written to it.
    holdsChannel: (channel) => ledger.mayAppend(channel),
    openChannel: (network, channel) => ledger.openChannel(network, channel),
    health: () => ledger.health(),
    waiting: () => ledger.administration.exploration.unsigned(),
    confirmsGuards: true,
    administration: ledger.administration,
  };
}
