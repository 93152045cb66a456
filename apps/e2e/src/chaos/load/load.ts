import { setTimeout as delay } from 'node:timers/promises';
import { until } from '@sealgate/testing';
import type { Random } from '../random.ts';

/** One act of a client, and what follows from it. */
export type Step = (random: Random) => Promise<void>;

export interface Load {
  /** What a step threw; then no other step begins. */
  readonly failure: Error | undefined;
  /** Resolves once no step is under way; none begins until the returned function is called. */
  pause(): Promise<() => void>;
  /** Ends once every step under way has ended. Throws what a step threw. */
  finish(): Promise<void>;
}

interface LoadOptions {
  readonly random: Random;
  /** Between two steps. */
  readonly pauseMs: number;
}

const PAUSED_WITHIN_MS = 120_000;

/** Runs each step again and again. */
export function startLoad(
  steps: readonly { readonly name: string; readonly step: Step }[],
  { random: all, pauseMs }: LoadOptions,
): Load {
  let [isOver, isPaused, running] = [false, false, 0];
  let failed: Error | undefined;
  const work = async ({ name, step }: (typeof steps)[number], number: number): Promise<void> => {
    const random = all.fork(`${name} ${number}`);
    while (!isOver && failed === undefined) {
      if (!isPaused) {
        running += 1;
        await step(random).finally(() => (running -= 1));
      }
      await delay(isPaused ? PAUSE_POLL_MS : pauseMs);
    }
  };
  const works = steps.map((each, number) =>
    work(each, number).catch((error: unknown) => {
      failed ??= error instanceof Error ? error : new Error(String(error));
    }),
  );
  return {
    get failure() {
      return failed;
    },
    async pause() {
      isPaused = true;
      await until(() => running === 0, { timeoutMs: PAUSED_WITHIN_MS, what: 'the end of every request under way' });
      return () => (isPaused = false);
    },
    async finish() {
      isOver = true;
      await Promise.all(works);
      if (failed !== undefined) throw failed;
    },
  };
}

const PAUSE_POLL_MS = 20;

/** The newest things of a kind, at most that many. */
export class Recent<Value> {
  readonly #values: Value[] = [];
  readonly #most: number;
  #next = 0;
  constructor(most: number) {
    this.#most = most;
  }
  add(value: Value): void {
    this.#values[this.#next] = value;
    this.#next = (this.#next + 1) % this.#most;
  }
  pick(random: Random): Value | undefined {
    return this.#values.length === 0 ? undefined : random.pick(this.#values);
  }
}
