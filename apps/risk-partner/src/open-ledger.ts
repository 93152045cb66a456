import {
  LedgerNotOpenedError,
  openEmbeddedLedger,
  type EmbeddedLedger,
  type OpenLedgerOptions,
} from '@sealgate/ledger-embedded';
import { openedOrStartError } from '@sealgate/service-host';

/**
 * The ledger in which evidence is anchored, with an integrator in the processes that run one.
 *
 * @throws StartError when the signing key is not this ledger's, or the log is not as it was left.
 */
export function openLedger(options: OpenLedgerOptions): Promise<EmbeddedLedger> {
  return openedOrStartError(LedgerNotOpenedError, () => openEmbeddedLedger(options));
}
