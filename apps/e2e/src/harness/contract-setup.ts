import { redisAvailable, throwawayPostgres, throwawayRedis } from '@sealgate/testing';
import { install, type InstallOptions, type Installation } from './installation.ts';

/** An installation with its servers, for stories without faults. */
export interface ContractSetup extends Installation {
  /** Stops the gateways, then the servers. */
  stop(): Promise<void>;
}

/** Starts gateways on a fresh database, with Redis where it is available. */
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

/** Timeout for starting what a test file needs. */
export const setupTimeoutMs = 120_000;
