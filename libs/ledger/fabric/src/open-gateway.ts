import type { Log, Metrics } from '@sealgate/observability';
import type { Database, Sql } from '@sealgate/storage';
import { ChannelMap } from './channel-map.ts';
import { ConnectionFileError, readConnectionFile, type FabricConnection } from './connection-file.ts';
import type { OnSettlement } from './ending-writer.ts';
import type { FabricClient } from './fabric-client.ts';
import { fabricLedger, type FabricLedger } from './fabric-ledger.ts';
import { fabricObserver } from './fabric-observer.ts';
import { openFabric } from './open-fabric.ts';
import type { OnResult } from './append-units.ts';

interface OpenGatewayOptions {
  /** The configuration of a surface. */
  readonly config: { readonly fabricConfig: string | undefined };
  /** Channels (`<networkId>.<name>`) that the surface writes to, as far as they are known at start. */
  readonly needs?: readonly string[];
  readonly sql: Database;
  /** The surface's schema, which has the tables of `fabricMigrations`. */
  readonly schema: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Registers a release; releases run in reverse order. */
  readonly own: (name: string, release: () => void | Promise<void>) => void;
  readonly onSettlement?: OnSettlement;
  /** See `JournalOptions`. */
  readonly inUse?: string;
  /** The surface signs for itself, as the default identity; otherwise each of its calls may name one. */
  readonly signsAsDefault?: boolean;
}

interface OpenedGateway {
  readonly client: FabricClient;
  readonly connection: FabricConnection;
  readonly channels: ChannelMap;
  /** Transactions whose outcome is not known yet. Rejects as the database does. */
  waiting(): Promise<UnsettledTransactions>;
}

/** The configuration does not allow opening the gateway; the message is for an operator. */
export class GatewayNotOpenedError extends Error {
  override readonly name = 'GatewayNotOpenedError';
}

/**
 * Opens a surface's gateway to the Fabric network of FABRIC_CONFIG, with metrics, logging and journal.
 * @throws GatewayNotOpenedError for faults of the connection file, a channel it does not hold, or a default it needs.
 */
export function openGateway(options: OpenGatewayOptions): OpenedGateway {
  const {
    config,
    needs = [],
    sql,
    schema,
    now,
    log,
    metrics,
    own,
    onSettlement,
    inUse,
    signsAsDefault = false,
  } = options;
  const connection = connectionOf(config.fabricConfig ?? '');
  if (signsAsDefault && connection.defaultIdentity === undefined)
    throw new GatewayNotOpenedError('FABRIC_CONFIG: default is null, but this service signs as the default identity.');
  const channels = new ChannelMap(connection.channels);
  const absent = [...new Set(needs.filter((channel) => channels.find(channel) === undefined))];
  if (absent.length > 0) {
    throw new GatewayNotOpenedError(
      `FABRIC_CONFIG: no Fabric channel holds these channels of the service: ${absent.join(', ')}.`,
    );
  }
  const client: FabricClient = openFabric({
    connection,
    journal: { sql, schema, ...(inUse === undefined ? {} : { inUse }) },
    now,
    observer: fabricObserver(metrics, log, () => client.state()),
    ...(onSettlement === undefined ? {} : { onSettlement }),
  });
  own('fabric', () => client.close());
  return { client, connection, channels, waiting: () => unsettledTransactions(sql, schema) };
}

export interface OpenRecordsLedgerOptions extends Omit<OpenGatewayOptions, 'onSettlement'> {
  readonly onResult?: OnResult;
  /** Maximum wait of a caller of append; `deadlinesMs.answer` of the connection file if that is less. */
  readonly answerWithinMs?: number;
}

/**
 * Opens our own contract on that network, behind the port. The service signs as the default identity.
 * @throws GatewayNotOpenedError as `openGateway` does, and without a default identity.
 */
export function openRecordsLedger({
  onResult,
  answerWithinMs = Infinity,
  ...options
}: OpenRecordsLedgerOptions): FabricLedger & Pick<OpenedGateway, 'channels' | 'waiting'> {
  const { sql, schema, now, own } = options;
  const { client, connection, channels, waiting } = openGateway({
    ...options,
    signsAsDefault: true,
    onSettlement: (settlement, about) => ledger.onSettlement(settlement, about),
  });
  const ledger: FabricLedger = fabricLedger({
    client,
    sql,
    schema,
    channels: connection.channels,
    now,
    answerWithinMs: Math.min(answerWithinMs, connection.deadlinesMs.answer),
    ...(onResult === undefined ? {} : { onResult }),
  });
  own('ledger', () => ledger.drain());
  return Object.assign(ledger, { channels, waiting });
}

function connectionOf(file: string): FabricConnection {
  try {
    return readConnectionFile(file);
  } catch (cause) {
    if (cause instanceof ConnectionFileError)
      throw new GatewayNotOpenedError(`FABRIC_CONFIG: ${cause.message}`, { cause });
    throw cause;
  }
}

/** An item of a surface's list of pending work. */
interface UnsettledTransactions {
  readonly what: 'journal';
  readonly description: string;
  readonly count: number;
  readonly oldestAt: Date | undefined;
}

/** Journalled transactions with an unknown outcome, of any process. */
async function unsettledTransactions(sql: Sql, schema: string): Promise<UnsettledTransactions> {
  const [row] = await sql.query<{ count: string; oldest: Date | null }>({
    text: `SELECT count(*) AS count, min(begun_at) AS oldest FROM ${schema}.fabric_transactions WHERE settled_at IS NULL`,
  });
  return {
    what: 'journal',
    description: 'Transactions on Fabric whose outcome is not known yet',
    count: Number(row?.count ?? 0),
    oldestAt: row?.oldest ?? undefined,
  };
}
