import {
  LedgerNotOpenedError,
  openEmbeddedLedger,
  type EmbeddedLedger,
  type OpenLedgerOptions,
} from '@sealgate/ledger-embedded';
import { StartError } from '@sealgate/service-host';
import { SCHEMA } from './ingest-migrations.ts';

/**
 * The ledger, with an integrator in the processes that run one. Appending goes through this surface's own function, so
 * that the event of a request is in the transaction of its records.
 *
 * @throws StartError when the signing key is not this ledger's, or the log is not as it was left.
 */
export async function openLedger(options: Omit<OpenLedgerOptions, 'appendFunction'>): Promise<EmbeddedLedger> {
  try {
    return await openEmbeddedLedger({ ...options, appendFunction: `${SCHEMA}.append_v1` });
  } catch (error) {
    if (error instanceof LedgerNotOpenedError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
