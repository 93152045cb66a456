import { createConnection, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { AbstractConnector, SentinelConnector, type Redis, type RedisOptions } from 'ioredis';

type Connector = NonNullable<RedisOptions['Connector']>;

/** What a connector is given. */
interface Target {
  readonly host?: string;
  readonly port?: number;
  readonly family?: number;
  readonly tls?: ConnectionOptions;
  readonly disconnectTimeout: number;
}

/** A TLS socket may fail twice, as by a broken pipe and by an alert; ioredis listens once, and the second would end the process. */
const survives = <Kind extends Socket>(socket: Kind): Kind => socket.on('error', () => undefined);

/**
 * Connects to one server, and reports why that failed: of connections that ioredis opens for itself, to nodes of a
 * cluster and to sentinels, it says no more than that they are closed.
 */
export function reportingConnector(onError: (error: Error) => void): Connector {
  class Reporting extends AbstractConnector {
    readonly #target: Target;

    constructor(target: Target) {
      super(target.disconnectTimeout);
      this.#target = target;
    }

    async connect(): Promise<Socket> {
      this.connecting = true;
      // It may be closed at once.
      await Promise.resolve();
      if (!this.connecting) throw new Error('Connection is closed.');
      const { host = 'localhost', port = 0, family = 0, tls } = this.#target;
      const where = { host, port, family };
      const socket = survives(tls === undefined ? createConnection(where) : connectTls({ ...where, ...tls }));
      socket.once('error', (error) => {
        this.firstError = error;
        onError(error);
      });
      this.stream = socket;
      return socket;
    }
  }
  return Reporting as unknown as Connector;
}

interface SentinelOptions {
  readonly lazyConnect?: boolean;
  readonly disableClientInfo?: boolean;
  readonly Connector?: Connector;
}

/** A method that ioredis declares as private. */
interface ToSentinels {
  connect(emit: unknown): Promise<Socket>;
  connectToSentinel(endpoint: unknown, options?: SentinelOptions): Redis;
}

const Base = SentinelConnector as unknown as new (options: unknown) => ToSentinels;

/**
 * Finds a primary by sentinels, as ioredis does. It reports errors of connections to sentinels, and that those which
 * wait for the announcement of another primary may not subscribe: ioredis would print the former to standard error, and
 * hide the latter.
 */
export function sentinelConnector(report: {
  readonly onError: (error: Error) => void;
  readonly onRefusal: (error: unknown) => void;
}): Connector {
  const reporting = reportingConnector(report.onError);
  class Reporting extends Base {
    override async connect(emit: unknown): Promise<Socket> {
      return survives(await super.connect(emit));
    }

    override connectToSentinel(endpoint: unknown, options: SentinelOptions = {}): Redis {
      const client = super.connectToSentinel(endpoint, {
        disableClientInfo: true,
        Connector: reporting,
        ...options,
      });
      client.on('error', () => undefined);
      // Only those that wait connect when they are first used.
      if (options.lazyConnect === true) {
        const subscribe = client.subscribe.bind(client);
        client.subscribe = ((...channels: string[]) => {
          const answer = subscribe(...channels);
          answer.catch(report.onRefusal);
          return answer;
        }) as Redis['subscribe'];
      }
      return client;
    }
  }
  return Reporting as unknown as Connector;
}
