import type { LogPolicy } from '@sealgate/merkle';
import type { Log, Metrics } from '@sealgate/observability';
import type { Database } from '@sealgate/storage';
import type { OnResult } from './append-group.ts';
import type { AppendFunctions } from './append-statement.ts';

export interface OpenLedgerOptions {
  /** The `ledgerFields` of a surface's configuration. */
  readonly config: {
    readonly ledgerOrigin: string;
    readonly ledgerIntegrator: boolean;
    readonly ledgerSigningKey: string | undefined;
    readonly ledgerVerifierKeys: readonly string[];
    readonly checkpointDir: string | undefined;
    readonly ledgerWitnesses?: LogPolicy | undefined;
    /** Policies of single channels, in place of the one above. */
    readonly ledgerChannelWitnesses?: ReadonlyMap<string, LogPolicy>;
    readonly ledgerWitnessWaitMs?: number;
    readonly ledgerArchiveDir?: string | undefined;
    /** For surfaces with the ledger on their admin listener: see `administration`. */
    readonly adminDatabaseUrl?: string | undefined;
    readonly adminPort?: number | undefined;
    readonly adminDatabasePoolSize?: number;
    readonly databasePreparedStatements?: boolean | undefined;
  };
  readonly sql: Database;
  /** For the integrator and what else no request waits for; defaults to `sql`. */
  readonly background?: Database;
  /** See `EmbeddedLedgerOptions`. */
  readonly look?: Database;
  /** Milliseconds since the epoch; fractions are dropped. */
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** See `EmbeddedLedgerOptions`. */
  readonly appendFunctions?: AppendFunctions;
  readonly onResult?: OnResult;
  /** Runs `begin` once the database is usable: `whenReady` of a DatabaseCheck. Default: immediately. */
  readonly whenReady?: (begin: () => Promise<void>) => Promise<void>;
  /** Registers a release; releases run in reverse order. */
  readonly own: (name: string, release: () => void | Promise<void>) => void;
}
