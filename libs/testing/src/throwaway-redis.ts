import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer, startRedis, type LocalRedis } from '@sealgate/local-services';
import { describe, it } from '@jest/globals';

export interface ThrowawayRedis extends LocalRedis {
  /** Restarts it after a stop or kill: empty, at the same URL, with the same arguments. */
  restart(): Promise<void>;
}

/** Whether a redis-server was found. Suites that need one use `describeWithRedis`. */
export const redisAvailable: boolean = findRedisServer() !== undefined;

const howToInstall =
  'no redis-server: install it (apt-get install redis-server, brew install redis), or run `npm test` once with the internet reachable, which builds one.';

/** A suite on a real Redis. Without one it is skipped with a hint on standard error; with CI=true it fails. */
export function describeWithRedis(title: string, suite: () => void): void {
  if (redisAvailable) {
    describe(title, suite);
  } else if (process.env['CI'] === 'true') {
    it(`${title}: needs a Redis`, () => {
      throw new Error(howToInstall);
    });
  } else {
    process.stderr.write(`SKIPPED "${title}": ${howToInstall}\n`);
    describe.skip(title, suite);
  }
}

/**
 * A real Redis on a free port, which ends with the process that started it.
 * @throws LocalServiceError if there is no redis-server: use `describeWithRedis`.
 */
export async function throwawayRedis(args: readonly string[] = []): Promise<ThrowawayRedis> {
  const directory = mkdtempSync(join(tmpdir(), 'sealgate-test-'));
  let server = await startRedis({ directory, args, removeWithOwner: directory });
  const { url, port } = server;
  return {
    url,
    port,
    get pid() {
      return server.pid;
    },
    get exited() {
      return server.exited;
    },
    restart: async () => {
      await server.stop();
      server = await startRedis({ directory, args, port, removeWithOwner: directory });
    },
    stop: async () => {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
