/** Whether the full numbers are run, which take longer than a check before each change should. */
export const isFull: boolean = process.env['SEALGATE_FULL'] === '1';

/** How much of something a story does. */
export function scaled({ full, quick }: { readonly full: number; readonly quick: number }): number {
  return isFull ? full : quick;
}

/**
 * A bound of the contract in milliseconds. A quick run shares its machine with other work, so there a bound is wider:
 * it still tells an answer from a hang.
 */
export function boundMs(ms: number): number {
  return isFull ? ms : ms * 3;
}
