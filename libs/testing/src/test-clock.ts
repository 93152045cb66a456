export interface TestClock {
  /** Milliseconds since the epoch. Does not move by itself. */
  now(): number;
  advance(ms: number): void;
}

/** A clock that only the test advances; default start 2026-01-01T00:00:00.000Z. */
export function testClock(startIso = '2026-01-01T00:00:00.000Z'): TestClock {
  let nowMs = Date.parse(startIso);
  if (Number.isNaN(nowMs)) throw new Error(`"${startIso}" is not a time.`);
  return {
    now: () => nowMs,
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
