import type { Log } from '@sealgate/observability';

/** Registers what to let go of when the service stops. Call it at the line that opens the thing. */
export type Own = (name: string, release: () => void | Promise<void>) => void;

interface Owned {
  readonly name: string;
  readonly release: () => void | Promise<void>;
}

/** Lets go of what a service has opened, the last opened first, whatever fails on the way. */
export class Owner {
  readonly #owned: Owned[] = [];
  readonly #log: Log;
  readonly #timeoutMs: number;

  /** @param timeoutMs how long each release may take before it is given up. */
  constructor(log: Log, timeoutMs: number) {
    this.#log = log;
    this.#timeoutMs = timeoutMs;
  }

  readonly own: Own = (name, release) => {
    this.#owned.push({ name, release });
  };

  /** Never rejects. A second call finds nothing left to release. */
  async releaseAll(): Promise<void> {
    for (let owned = this.#owned.pop(); owned !== undefined; owned = this.#owned.pop()) await this.#release(owned);
  }

  async #release({ name, release }: Owned): Promise<void> {
    const failure = await withTimeout(release, this.#timeoutMs);
    if (failure !== undefined) this.#log.error('release_failed', { name, reason: failure });
  }
}

/** @returns what went wrong, or undefined. */
async function withTimeout(work: () => void | Promise<void>, timeoutMs: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`took longer than ${timeoutMs} ms`), timeoutMs);
  });
  const done = (async () => {
    await work();
    return undefined;
  })();
  try {
    return await Promise.race([done, tooLong]);
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : 'something that is no Error was thrown';
  } finally {
    clearTimeout(timer);
  }
}
