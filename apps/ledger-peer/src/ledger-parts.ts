import type { Log, Metrics } from '@sealgate/observability';
import type { Own } from '@sealgate/service-host';
import type { Database, DatabaseCheck } from '@sealgate/storage';
import type { PeerConfig } from './config.ts';
import type { LedgerMetrics } from './peer-metrics.ts';

/** What every driver is opened with. */
export interface OpenLedgerParts {
  readonly config: PeerConfig;
  readonly sql: Database;
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly ledgerMetrics: LedgerMetrics;
  readonly own: Own;
  readonly database: DatabaseCheck;
}
