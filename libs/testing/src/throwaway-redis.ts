import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer, startRedis, type LocalRedis } from '@sealgate/local-services';
import { describe, it } from '@jest/globals';

export interface ThrowawayRedis extends LocalRedis {
  /** Starts it again after it was stopped or killed: empty, at the same URL, with the arguments it had. */
  restart(): Promise<void>;
}

/** Whether there is a Redis to test with. Suites that need one go through `describeWithRedis`. */
export const redisAvailable: boolean = findRedisServer() !== undefined;

const howToInstall =
  'no redis-server: install it (apt-get install redis-server, brew install redis), or run `npm test` once with the internet reachable, which builds one.';

/** A suite on a real Redis. Without one it is skipped, and says how to get it; with CI=true it fails instead. */
export function describeWithRedis(title: string, suite: () => void): void {
  if (redisAvailable) {
    describe(title, suite);
  } else if (process.env['CI'] === 'true') {
    it(`${title}: has a Redis to run on`, () => {
      throw new Error(howToInstall);
    });
  } else {
    process.stderr.write(`SKIPPED "${title}": ${howToInstall}\n`);
    describe.skip(title, suite);
  }
}

/**
 * A real Redis of this test's own, on a free port, which ends with the process that started it.
 * Throws LocalServiceError where there is none: guard with `describeWithRedis`.
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
