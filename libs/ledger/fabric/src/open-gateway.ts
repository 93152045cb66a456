import type { Log, Metrics } from '@sealgate/observability';
import type { Database } from '@sealgate/storage';
import { ChannelMap } from './channel-map.ts';
import { ConnectionFileError, readConnectionFile, type FabricConnection } from './connection-file.ts';
import type { OnSettlement } from './ending-writer.ts';
import type { FabricClient } from './fabric-client.ts';
import { fabricLedger, type FabricLedger, type OnResult } from './fabric-ledger.ts';
import { fabricObserver } from './fabric-metrics.ts';
import { openFabric } from './open-fabric.ts';
import { unsettledTransactions, type UnsettledTransactions } from './unsettled-transactions.ts';

export interface OpenGatewayOptions {
  /** What the fields of a surface say. */
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
  /** Registers what to let go of, in reverse. */
  readonly own: (name: string, release: () => void | Promise<void>) => void;
  readonly onSettlement?: OnSettlement;
}

export interface OpenedGateway {
  readonly client: FabricClient;
  readonly connection: FabricConnection;
  readonly channels: ChannelMap;
  /** Transactions whose outcome is not known yet. Rejects as the database does. */
  waiting(): Promise<UnsettledTransactions>;
}

/** The gateway must not be opened like this: a sentence for an operator. */
export class GatewayNotOpenedError extends Error {
  override readonly name = 'GatewayNotOpenedError';
}

/**
 * A surface's gateway to the Fabric network of FABRIC_CONFIG, with its metrics, log lines and journal.
 * @throws GatewayNotOpenedError naming what is wrong with the connection file, or which channel it does not hold.
 */
export function openGateway(options: OpenGatewayOptions): OpenedGateway {
  const { config, needs = [], sql, schema, now, log, metrics, own, onSettlement } = options;
  const connection = connectionOf(config.fabricConfig ?? '');
  const channels = new ChannelMap(connection.channels);
  const absent = [...new Set(needs.filter((channel) => channels.find(channel) === undefined))];
  if (absent.length > 0) {
    throw new GatewayNotOpenedError(
      `FABRIC_CONFIG: no Fabric channel holds what this service writes to: ${absent.join(', ')}.`,
    );
  }
  const client: FabricClient = openFabric({
    connection,
    journal: { sql, schema },
    now,
    observer: fabricObserver(metrics, log, () => client.state()),
    ...(onSettlement === undefined ? {} : { onSettlement }),
  });
  own('fabric', () => client.close());
  return { client, connection, channels, waiting: () => unsettledTransactions(sql, schema) };
}

export interface OpenRecordsLedgerOptions extends Omit<OpenGatewayOptions, 'onSettlement'> {
  readonly onResult?: OnResult;
  /** The longest that a caller of append waits; `deadlinesMs.answer` of the connection file where that is less. */
  readonly answerWithinMs?: number;
}

/**
 * Our own contract on that network, behind the port.
 * @throws GatewayNotOpenedError as `openGateway` does.
 */
export function openRecordsLedger({
  onResult,
  answerWithinMs = Infinity,
  ...options
}: OpenRecordsLedgerOptions): FabricLedger & Pick<OpenedGateway, 'channels' | 'waiting'> {
  const { sql, schema, now, own } = options;
  const { client, connection, channels, waiting } = openGateway({
    ...options,
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
