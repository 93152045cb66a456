import type { Labels, LabelSets, Sample } from './label-family.ts';
import { type LabelFamily } from './label-family.ts';

/** One combination of label values of a gauge. */
export class GaugeChild {
  #value = 0;

  get value(): number {
    return this.#value;
  }

  set(value: number): void {
    this.#value = value;
  }

  inc(amount = 1): void {
    this.#value += amount;
  }

  dec(amount = 1): void {
    this.#value -= amount;
  }
}

/** A number that goes up and down. */
export class Gauge<Sets extends LabelSets> {
  readonly #family: LabelFamily<GaugeChild>;

  constructor(family: LabelFamily<GaugeChild>) {
    this.#family = family;
  }

  child(labels: Labels<Sets>): GaugeChild {
    return this.#family.child(labels);
  }

  set(labels: Labels<Sets>, value: number): void {
    this.#family.find(labels).set(value);
  }
}

export function* gaugeSamples(family: LabelFamily<GaugeChild>): Generator<Sample> {
  for (const [labels, child] of family) yield { value: child.value, labels };
}
