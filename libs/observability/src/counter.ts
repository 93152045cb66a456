import type { Labels, LabelSets, Sample } from './label-family.ts';
import { type LabelFamily } from './label-family.ts';

/** One combination of label values: an addition and nothing else, fit for the path of every request. */
export class CounterChild {
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** @throws RangeError when `amount` is negative or not a number: a counter only grows. */
  inc(amount = 1): void {
    if (!(amount >= 0)) throw new RangeError('A counter only grows.');
    this.#total += amount;
  }
}

/** A number that only grows while the process lives. Bind a child once where it is hot. */
export class Counter<Sets extends LabelSets> {
  readonly #family: LabelFamily<CounterChild>;

  constructor(family: LabelFamily<CounterChild>) {
    this.#family = family;
  }

  /** The counter of one combination; it is exposed as 0 from now on, so that the first increase is seen as one. */
  child(labels: Labels<Sets>): CounterChild {
    return this.#family.child(labels);
  }

  /** Looks the child up at every call; for what is not hot. */
  inc(labels: Labels<Sets>, amount = 1): void {
    this.#family.find(labels).inc(amount);
  }
}

export function* counterSamples(family: LabelFamily<CounterChild>): Generator<Sample> {
  for (const [labels, child] of family) yield { value: child.total, labels };
}
