import { redisAvailable, throwawayPostgres, throwawayRedis } from '@sealgate/testing';
import { install, type InstallOptions, type Installation } from './installation.ts';

/** An installation with the servers it stands on, for stories that break nothing. */
export interface ContractSetup extends Installation {
  /** Stops the gateways, then the servers. */
  stop(): Promise<void>;
}

/** Starts gateways on a fresh database, with a Redis where there is one. */
export async function contractSetup(options: Omit<InstallOptions, 'postgres' | 'redis'> = {}): Promise<ContractSetup> {
  const postgres = await throwawayPostgres();
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

/** How long a file of tests may take to start what it needs. */
export const setupTimeoutMs = 120_000;
