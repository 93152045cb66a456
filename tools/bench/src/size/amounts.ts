/** How many of each thing a size has. */
export interface Amounts {
  readonly channels: number;
  readonly networks: number;
  readonly keys: number;
  readonly records: number;
  readonly events: number;
  readonly venues: number;
  readonly cases: number;
  readonly decisions: number;
  readonly organisations: number;
  readonly risks: number;
  readonly evidence: number;
}

/** A thousand times what `npm start` shows. */
const largest: Amounts = {
  channels: 300,
  networks: 5_000,
  keys: 20_000,
  records: 5_000_000,
  events: 5_000_000,
  venues: 2_000,
  cases: 500_000,
  decisions: 3_000_000,
  organisations: 50,
  risks: 1_000_000,
  evidence: 1_000_000,
};

const divisors = { S: 1_000, M: 100, L: 1 } as const;
export type SizeName = keyof typeof divisors;
export const sizeNames = Object.keys(divisors) as readonly SizeName[];

/** Of each at least two: one that has half of everything, and another. */
export const amountsOf = (size: SizeName): Amounts =>
  Object.fromEntries(
    Object.entries(largest).map(([what, count]) => [what, Math.max(2, Math.round(count / divisors[size]))]),
    // The names are those of the table above.
  ) as unknown as Amounts;

/** So many of each thing come through the doors at least; where that is slow the rest are copies of rows. */
export const THROUGH_DOORS = 10_000;

/** A machine that is full refuses some requests; a size is what it says if hardly any are missing. */
export const isFilled = (made: number, wanted: number): boolean => made >= 0.99 * wanted && made <= wanted;
