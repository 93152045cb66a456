export interface Rating {
  readonly likelihood: number;
  readonly impact: number;
}

/** Ratings of risks that were rated anew in this quarter, oldest first, by their places: `2x3` has the likelihood 2. */
const IN_QUARTER: Readonly<Record<number, string>> = {
  14: '2x3 3x4 4x5',
  31: '2x2 4x3',
  56: '3x3 3x5',
  74: '1x4 3x4',
  97: '2x4 5x4',
  104: '1x3 2x4',
  86: '3x4 5x4',
  20: '4x5 3x4',
  63: '5x4 2x4',
  110: '3x3 2x2',
  103: '2x3 4x4 2x3',
};
/** The same of those that were rated anew in the months before it. */
const BEFORE: Readonly<Record<number, string>> = { 9: '2x2 3x3', 38: '3x4 4x5', 85: '4x4 3x4' };

interface RatingHistory {
  /** RFC 3339, as all times. */
  readonly madeAt: string;
  /** The current ratings, oldest first: of the first, when the risk was made. Undefined for a risk that was never rated anew. */
  readonly ratings: readonly { readonly at: string; readonly rating: Rating }[] | undefined;
}

const DAY_MS = 86_400_000;
const OLDEST_MS = 900 * DAY_MS;
const BEFORE_MS = 260 * DAY_MS;

/** The beginning of the quarter of the year, in the time zone of this machine. */
function quarterOf(nowMs: number): number {
  const now = new Date(nowMs);
  return new Date(now.getFullYear(), now.getMonth() - (now.getMonth() % 3), 1).getTime();
}

/** When the risk at a place of so many was made and rated: nine in ten were made before the quarter. */
export function historyOf({ index, count }: { index: number; count: number }, nowMs: number): RatingHistory {
  const quarterMs = quarterOf(nowMs);
  const old = Math.floor(count * 0.9);
  const madeMs =
    index < old
      ? quarterMs - DAY_MS - OLDEST_MS * (1 - index / old)
      : between([quarterMs, nowMs], (index - old) / (count - old));
  const [ratings, period] =
    index in IN_QUARTER
      ? [IN_QUARTER[index], [quarterMs, nowMs] as const]
      : [BEFORE[index], [quarterMs - BEFORE_MS, quarterMs] as const];
  const madeAt = textOf(madeMs);
  if (ratings === undefined) return { madeAt, ratings: undefined };
  const all = ratings.split(' ').map((text) => text.split('x').map(Number));
  return {
    madeAt,
    ratings: all.map(([likelihood = 1, impact = 1], step) => ({
      at: step === 0 ? madeAt : textOf(between(period, (step - 0.5 + (index % 10) / 20) / all.length)),
      rating: { likelihood, impact },
    })),
  };
}

const between = ([from, to]: readonly [number, number], share: number): number => from + share * (to - from);
const textOf = (ms: number): string => new Date(Math.floor(ms)).toISOString();
