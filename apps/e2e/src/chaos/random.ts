import { hash } from 'node:crypto';

/** Numbers that follow from a seed alone: the same seed gives the same numbers on every machine. */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** An integer from 0 to below `end`. */
  below(end: number): number;
  /** An integer from `least` to `most`. */
  between(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<Value>(values: readonly Value[]): Value;
  /** A text of that many hexadecimal digits, at most 48. */
  text(digits: number): string;
  /** Numbers of their own: how many of them are drawn changes no other numbers. */
  fork(name: string): Random;
}

const DIGITS = 12;
const RANGE = 16 ** DIGITS;

/** SHA-256 in counter mode: the n-th number is read from the hash of the seed and n. */
export function randomOf(seed: string): Random {
  let drawn = 0;
  const block = (): string => hash('sha256', `${seed} ${(drawn += 1)}`, 'hex');
  const next = (): number => Number.parseInt(block().slice(0, DIGITS), 16) / RANGE;
  const below = (end: number): number => Math.floor(next() * end);
  return {
    next,
    below,
    between: (least, most) => least + below(most - least + 1),
    chance: (probability) => next() < probability,
    pick(values) {
      if (values.length === 0) throw new Error('There is nothing to pick from.');
      return values[below(values.length)]!;
    },
    text: (digits) => block().slice(0, digits),
    fork: (name) => randomOf(`${seed}/${name}`),
  };
}
