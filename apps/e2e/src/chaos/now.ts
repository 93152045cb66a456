/** Milliseconds of the Unix epoch, with fractions, from a clock that never goes back. */
export const nowMs = (): number => performance.timeOrigin + performance.now();
