import type { FabricObserver, FabricProblem } from './fabric-observer.ts';

interface FaultLogOptions {
  readonly now: () => number;
  readonly observer: FabricObserver;
}

const LOG_AGAIN_MS = 60_000;
/** Maximum faults remembered as logged, and maximum characters logged of one. */
const MAX_FAULTS = 1000;
const MAX_MESSAGE_LENGTH = 1000;

/** Logs what keeps calls from succeeding, once a minute for each problem and place. */
export class FaultLog {
  readonly #options: FaultLogOptions;
  readonly #loggedAtMs = new Map<string, number>();

  constructor(options: FaultLogOptions) {
    this.#options = options;
  }

  /** `place` says which peer, contract and reason it concerns; `message` is the peer's own. */
  report(what: FabricProblem, place: string, message: string): void {
    const { now, observer } = this.#options;
    const fault = `${what} ${place}`;
    if (now() - (this.#loggedAtMs.get(fault) ?? Number.NEGATIVE_INFINITY) < LOG_AGAIN_MS) return;
    if (this.#loggedAtMs.size >= MAX_FAULTS) this.#loggedAtMs.clear();
    this.#loggedAtMs.set(fault, now());
    observer.problem?.(what, `${place}: ${message.slice(0, MAX_MESSAGE_LENGTH)}`);
  }
}
