/** What became of a delivery, as charts tell it. */
export type ActivityKind = 'accepted' | 'replayed' | 'conflicts' | 'refused';
export type ActivityCounts = Readonly<Record<ActivityKind, number>>;

/** The deliveries of a source in one hour. */
export interface ActivityHour extends ActivityCounts {
  readonly hour: Date;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** How far back a chart reaches, and in which steps. */
interface ActivitySpan {
  readonly stepMs: number;
  readonly steps: number;
  /** The beginning of the first step; the last one is still running. */
  readonly from: (nowMs: number) => Date;
}

const spanOf = (stepMs: number, steps: number): ActivitySpan => ({
  stepMs,
  steps,
  from: (nowMs) => new Date((Math.floor(nowMs / stepMs) - steps + 1) * stepMs),
});

export const ACTIVITY_SPANS = { hour: spanOf(HOUR_MS, 24), day: spanOf(DAY_MS, 14) };

const NONE: ActivityCounts = { accepted: 0, replayed: 0, conflicts: 0, refused: 0 };

const sumOf = (one: ActivityCounts, other: ActivityCounts): ActivityCounts => ({
  accepted: one.accepted + other.accepted,
  replayed: one.replayed + other.replayed,
  conflicts: one.conflicts + other.conflicts,
  refused: one.refused + other.refused,
});

/** Every step of a span, with the sum of its hours. */
export function activityOf({ stepMs, steps }: ActivitySpan, from: Date, hours: readonly ActivityHour[]) {
  return Array.from({ length: steps }, (_, step) => {
    const beginMs = from.getTime() + step * stepMs;
    const within = hours.filter(({ hour }) => hour.getTime() >= beginMs && hour.getTime() < beginMs + stepMs);
    return { from: new Date(beginMs).toISOString(), ...within.reduce<ActivityCounts>(sumOf, NONE) };
  });
}
