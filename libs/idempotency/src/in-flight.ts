import { AppError } from '@sealgate/errors';

/** Runs the callback once after a delay, unless the returned function is called first. */
export type StartTimer = (callback: () => void, delayMs: number) => () => void;

export interface InFlightOptions {
  /** How long a request waits for a running one, 250 by default. */
  readonly waitMs?: number;
  /** Defaults to the platform's timer. */
  readonly startTimer?: StartTimer;
}

interface Running<T> {
  readonly fingerprint: string;
  /**
   * Never rejects: undefined if the work failed. Cleared at the end: V8 links each table of a Map to its replacement,
   * so once a table is old, everything later ones held is retained until the next full collection.
   */
  settled: Promise<{ readonly value: T } | undefined> | undefined;
}

const WAIT_MS = 250;
const startPlatformTimer: StartTimer = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
};

/**
 * Requests of this process that hold a claim while they run, so that another one with the same claim waits here instead
 * of at the lock of its row. Only the row of the claim makes an effect happen once and decides whether a key was used
 * with another request; a running request may itself be refused. Holds one entry per running work and one timer per
 * waiting request, so running requests bound it.
 */
export class InFlight<T> {
  readonly #running = new Map<string, Running<T>>();
  readonly #waitMs: number;
  readonly #startTimer: StartTimer;

  constructor({ waitMs = WAIT_MS, startTimer = startPlatformTimer }: InFlightOptions = {}) {
    this.#waitMs = waitMs;
    this.#startTimer = startTimer;
  }

  /**
   * Runs the work once nothing else runs under the claim, or joins the same request if that is running. Failures are
   * not shared: a waiting request runs its own work, because the first may have failed for its own reasons, such as a
   * client that left. Neither is the value of a request with another fingerprint: the work then reads the row.
   * @throws AppError IDEMPOTENCY_IN_PROGRESS if something still runs under the claim after `waitMs`; and whatever the
   * work throws.
   */
  async run(
    claim: string,
    fingerprint: string,
    work: () => Promise<T>,
  ): Promise<{ readonly value: T; readonly joined: boolean }> {
    const first = this.#running.get(claim);
    if (first === undefined) return { value: await this.#lead(claim, fingerprint, work), joined: false };
    return this.#follow(claim, fingerprint, work);
  }

  /** Number of running works, for a gauge. */
  get size(): number {
    return this.#running.size;
  }

  #lead(claim: string, fingerprint: string, work: () => Promise<T>): Promise<T> {
    const working = work();
    const running: Running<T> = { fingerprint, settled: undefined };
    const end = () => {
      this.#running.delete(claim);
      running.settled = undefined;
    };
    running.settled = working.then(
      (value) => {
        end();
        return { value };
      },
      () => {
        end();
        return undefined;
      },
    );
    this.#running.set(claim, running);
    return working;
  }

  async #follow(
    claim: string,
    fingerprint: string,
    work: () => Promise<T>,
  ): Promise<{ readonly value: T; readonly joined: boolean }> {
    let stopTimer = () => {};
    const tooLate = new Promise<'too late'>((resolve) => {
      stopTimer = this.#startTimer(() => resolve('too late'), this.#waitMs);
    });
    try {
      for (let first = this.#running.get(claim); first !== undefined; first = this.#running.get(claim)) {
        const outcome = await Promise.race([first.settled, tooLate]);
        if (outcome === 'too late') throw inProgress();
        const isSame = first.fingerprint === fingerprint;
        if (isSame && outcome !== undefined) return { value: outcome.value, joined: true };
      }
    } finally {
      stopTimer();
    }
    return { value: await this.#lead(claim, fingerprint, work), joined: false };
  }
}

function inProgress(): AppError {
  return new AppError('IDEMPOTENCY_IN_PROGRESS', 'Another request with this key is still running.', {
    retryAfterSeconds: 1,
  });
}
