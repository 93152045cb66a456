import { rmSync } from 'node:fs';
import { redisAvailable, throwawayRedis } from '@sealgate/testing';
import { migratedPostgres } from './bundle.ts';
import { install, type InstallOptions, type Installation } from './installation.ts';

/** An installation with its servers, for stories without faults. */
export interface ContractSetup extends Installation {
  /** Stops the gateways, then the servers. */
  stop(): Promise<void>;
}

/** Starts gateways on a fresh database, with Redis where it is available. */
export async function contractSetup(options: Omit<InstallOptions, 'postgres' | 'redis'> = {}): Promise<ContractSetup> {
  const postgres = await migratedPostgres('ingest-gateway');
  const redis = redisAvailable ? await throwawayRedis() : undefined;
  const stopServers = async (): Promise<void> => {
    await Promise.all([postgres.stop(), redis?.stop()]);
  };
  try {
    const installation = await install({ postgres, ...(redis === undefined ? {} : { redis }), ...options });
    return {
      ...installation,
      stop: async () => {
        try {
          await installation.stop();
        } finally {
          await stopServers();
        }
      },
    };
  } catch (error) {
    await stopServers();
    throw error;
  }
}

let shared: Promise<ContractSetup> | undefined;

/**
 * Two gateways that the stories of a process share: for stories that use networks of their own, and neither stop a
 * gateway nor read what all networks add to. It ends with the process of the tests.
 */
export async function sharedSetup(): Promise<ContractSetup> {
  shared ??= contractSetup({ gateways: 2 });
  const setup = await shared;
  return {
    ...setup,
    stop: () => {
      for (const gateway of setup.gateways) {
        gateway.release();
        gateway.expectDeclaredCodes();
      }
      return Promise.resolve();
    },
  };
}

process.once('disconnect', () => void shared?.then((setup) => rmSync(setup.folder, { recursive: true, force: true })));

/** Timeout for starting what a test file needs. */
export const setupTimeoutMs = 120_000;
