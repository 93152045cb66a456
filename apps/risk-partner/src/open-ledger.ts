import {
  LedgerNotOpenedError,
  openEmbeddedLedger,
  type OpenLedgerOptions as OpenEmbeddedOptions,
} from '@sealgate/ledger-embedded';
import type { Ledger } from '@sealgate/ledger-port';
import { openedOrStartError } from '@sealgate/service-host';
import { channelOfConfig, type RiskConfig } from './config.ts';
import { SCHEMA } from './risk-migrations.ts';

export interface AnchorLedger extends Pick<Ledger, 'append' | 'findConflict' | 'prove' | 'health'> {
  openChannel(network: string, channel: string): Promise<void>;
  /** Whether the ledger has a public log; on Fabric peers prove records. */
  readonly hasLog: boolean;
}

interface OpenLedgerOptions extends Omit<OpenEmbeddedOptions, 'config' | 'appendFunctions' | 'onResult'> {
  readonly config: RiskConfig;
}

/**
 * Opens the ledger named by LEDGER_DRIVER: the embedded one, with an integrator where configured, or a Fabric network.
 * The Fabric driver is loaded only if it is used.
 * @throws StartError if the signing key belongs to another ledger, the log differs from its stored state, or
 *   FABRIC_CONFIG is unusable.
 */
export async function openLedger(options: OpenLedgerOptions): Promise<AnchorLedger> {
  if (options.config.ledgerDriver === 'embedded') {
    const ledger = await openedOrStartError(LedgerNotOpenedError, () => openEmbeddedLedger(options));
    return Object.assign(ledger, { hasLog: true });
  }
  const { GatewayNotOpenedError, openRecordsLedger } = await import('@sealgate/ledger-fabric');
  const needs = [channelOfConfig(options.config)];
  const ledger = await openedOrStartError(GatewayNotOpenedError, async () =>
    openRecordsLedger({ ...options, needs, schema: SCHEMA }),
  );
  return {
    append: (unit) => ledger.append(unit),
    findConflict: (unit) => ledger.findConflict(unit),
    prove: (channel, id) => ledger.prove(channel, id),
    openChannel: (network, name) => ledger.openChannel(network, name),
    hasLog: false,
    // Always ready: anchors wait in the outbox while the network is down, and nothing else needs it.
    async health() {
      const { problem } = await ledger.health();
      return { ok: true, problem };
    },
  };
}
