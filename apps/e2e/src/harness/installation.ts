import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { throwawayPostgres, throwawayRedis, type OwnPostgres, type ThrowawayRedis } from '@sealgate/testing';
import type { AdminClient, Members } from './admin-client.ts';
import type { Database } from './bundle.ts';
import type { Gateway } from './gateway-process.ts';
import {
  checkpointFolder,
  surfaceSetup,
  type SurfaceOptions,
  type SurfaceSetup,
  type Variables,
} from './surface-setup.ts';

export interface InstallOptions {
  /** Processes of the gateway on one database; default 1. */
  readonly gateways?: number;
  /** How many of them integrate, counted from the first; default all. */
  readonly integrators?: number;
  /** The Redis that all of them use; absent: none. */
  readonly redis?: { readonly url: string };
  readonly postgres: Database;
  /** Variables in addition to those that an installation needs. */
  readonly env?: Variables;
  readonly tls?: SurfaceOptions['tls'];
}

/** Gateways on a fresh database. */
export interface Installation extends SurfaceSetup {
  readonly gateways: readonly Gateway[];
  /** The first gateway, for stories of one. */
  readonly gateway: Gateway;
  /** The checkpoint folder of each integrating process. */
  readonly checkpointFolders: readonly string[];
  /** Creates a network and returns its id. Default limits are too high to matter. */
  newNetwork(members?: Members): Promise<string>;
  /** Mints a key. Default limits are too high to matter. */
  newKey(networkId: string, members?: Members): Promise<MintedKey>;
}

export interface MintedKey {
  readonly id: string;
  readonly rawKey: string;
}

export const outOfReach = { ratePerSecond: 1_000_000, burst: 1_000_000 };

/** Migrates the database and starts gateways on it, as an operator would. */
export async function install({
  gateways: processes = 1,
  integrators = processes,
  redis,
  env,
  ...options
}: InstallOptions): Promise<Installation> {
  const setup = await surfaceSetup({
    ...options,
    surface: 'ingest-gateway',
    processes,
    integrators,
    redisUrl: redis?.url,
    env: (folder) => ({ LEDGER_ARCHIVE_DIR: join(folder, 'archive'), ...env }),
  });
  return {
    ...setup,
    gateways: setup.processes,
    gateway: setup.processes[0]!,
    checkpointFolders: Array.from({ length: integrators }, (_, index) => checkpointFolder(setup.folder, index)),
    ...makers(setup.admin),
  };
}

function makers(admin: AdminClient): Pick<Installation, 'newNetwork' | 'newKey'> {
  let made = 0;
  return {
    async newNetwork(members = {}) {
      made += 1;
      const networkId = `net-${made}-${randomBytes(3).toString('hex')}`;
      await admin.ask('POST', '/networks', { networkId, limits: outOfReach, ...members });
      return networkId;
    },
    async newKey(networkId, members = {}) {
      made += 1;
      const body = { label: `Key ${made}`, limits: outOfReach, ...members };
      const { id, rawKey } = await admin.ask('POST', `/networks/${networkId}/keys`, body);
      return { id: String(id), rawKey: String(rawKey) };
    },
  };
}

export interface Servers {
  readonly postgres: OwnPostgres;
  readonly redis: ThrowawayRedis;
  stop(): Promise<void>;
}

/** A durable PostgreSQL (fsync on) and a Redis for one story alone, which may break them. */
export async function breakableServers(redisArguments: readonly string[] = []): Promise<Servers> {
  const [postgres, redis] = await Promise.all([
    throwawayPostgres({ own: true, durable: true }),
    throwawayRedis(redisArguments),
  ]);
  return {
    postgres,
    redis,
    stop: async () => {
      await Promise.all([postgres.stop(), redis.stop()]);
    },
  };
}
