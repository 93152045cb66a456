import {
  LedgerNotOpenedError,
  openEmbeddedLedger,
  type EmbeddedLedger,
  type OpenLedgerOptions,
} from '@sealgate/ledger-embedded';
import { StartError } from '@sealgate/service-host';

/**
 * The ledger in which evidence is anchored, with an integrator in the processes that run one.
 *
 * @throws StartError when the signing key is not this ledger's, or the log is not as it was left.
 */
export async function openLedger(options: OpenLedgerOptions): Promise<EmbeddedLedger> {
  try {
    return await openEmbeddedLedger(options);
  } catch (error) {
    if (error instanceof LedgerNotOpenedError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
