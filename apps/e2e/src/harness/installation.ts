import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { throwawayPostgres, throwawayRedis, type OwnPostgres, type ThrowawayRedis } from '@sealgate/testing';
import { adminClient, type AdminClient, type Members } from './admin-client.ts';
import { migrate, type Database } from './bundle.ts';
import { prepareGateway, type Gateway } from './gateway-process.ts';
import { newNoteKey } from './note-key.ts';

export interface InstallOptions {
  /** Processes of the gateway on one database; default 1. */
  readonly gateways?: number;
  /** How many of them integrate, counted from the first; default all. */
  readonly integrators?: number;
  /** The Redis that all of them use; absent: none. */
  readonly redis?: { readonly url: string };
  readonly postgres: Database;
  /** Variables in addition to those that an installation needs. */
  readonly env?: Readonly<Record<string, string>>;
  readonly scheme?: 'http' | 'https';
  readonly ca?: string;
}

export interface Installation {
  readonly gateways: readonly Gateway[];
  /** The first gateway, for stories of one. */
  readonly gateway: Gateway;
  /** The admin API of the first gateway. */
  readonly admin: AdminClient;
  readonly adminToken: string;
  /** The public key that an outsider pins. */
  readonly verifierKey: string;
  /** The checkpoint folder of each integrating process. */
  readonly checkpointFolders: readonly string[];
  /** For files of the story; removed with the installation. */
  readonly folder: string;
  /** Creates a network and returns its id. Default limits are too high to matter. */
  newNetwork(members?: Members): Promise<string>;
  /** Mints a key. Default limits are too high to matter. */
  newKey(networkId: string, members?: Members): Promise<MintedKey>;
  /** Stops all gateways. Rejects when one of them does not exit cleanly. */
  stop(): Promise<void>;
}

export interface MintedKey {
  readonly id: string;
  readonly rawKey: string;
}

export const ledgerOrigin = 'ledger.test/sealgate';
export const outOfReach = { ratePerSecond: 1_000_000, burst: 1_000_000 };

/** Migrates the database and starts gateways on it, as an operator would. */
export async function install(options: InstallOptions): Promise<Installation> {
  const { postgres, gateways: count = 1, integrators = count } = options;
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-'));
  const adminToken = randomBytes(32).toString('base64url');
  const noteKey = newNoteKey(ledgerOrigin);
  await migrate(postgres, 'ingest-gateway');
  const common = {
    DATABASE_URL: postgres.url,
    ...(options.redis === undefined ? {} : { REDIS_URL: options.redis.url }),
    REPLICAS: String(count),
    SERVER_SECRETS: `e1:${randomBytes(32).toString('hex')}`,
    ADMIN_TOKEN_HASHES: hash('sha256', adminToken, 'hex'),
    LEDGER_ORIGIN: ledgerOrigin,
    LEDGER_ARCHIVE_DIR: join(folder, 'archive'),
  };
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const folders = numbers.map((number) => join(folder, `checkpoints-${number}`));
  const gateways = await Promise.all(
    folders.map((checkpoints, index) =>
      prepareGateway({
        env: {
          ...common,
          ...(index < integrators
            ? { LEDGER_INTEGRATOR: 'true', LEDGER_SIGNING_KEY: noteKey.signingKey, CHECKPOINT_DIR: checkpoints }
            : { LEDGER_VERIFIER_KEYS: noteKey.verifierKey }),
          ...options.env,
        },
        logFile: join(folder, `gateway-${index + 1}.log`),
        ...(options.scheme === undefined ? {} : { scheme: options.scheme }),
        ...(options.ca === undefined ? {} : { ca: options.ca }),
      }),
    ),
  );
  const checkpointFolders = folders.slice(0, integrators);
  const [gateway] = gateways;
  if (gateway === undefined) throw new Error('An installation has at least one gateway.');
  const admin = adminClient(gateway.admin, adminToken);
  const stop = async (): Promise<void> => {
    const codes = await Promise.all(gateways.map((one) => (one.isRunning ? one.stop() : Promise.resolve(0))));
    for (const one of gateways) one.release();
    const logs = codes.some((code) => code !== 0) ? gateways.map((one) => one.logText().slice(-2_000)) : [];
    rmSync(folder, { recursive: true, force: true });
    if (logs.length > 0)
      throw new Error(`Gateways ended with ${codes.join(', ')} when they were stopped:\n${logs.join('\n')}`);
  };
  try {
    await Promise.all(gateways.map((one) => one.start()));
  } catch (error) {
    await Promise.all(gateways.map((one) => one.kill()));
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    gateways,
    gateway,
    admin,
    adminToken,
    verifierKey: noteKey.verifierKey,
    checkpointFolders,
    folder,
    stop,
    ...makers(admin),
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
