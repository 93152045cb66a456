import { setTimeout as delay } from 'node:timers/promises';

/** Whether to run the full numbers, which take too long for the check before each change. */
export const isFull: boolean = process.env['SEALGATE_FULL'] === '1';

/** The quantity for a quick or a full run. */
export function scaled({ full, quick }: { readonly full: number; readonly quick: number }): number {
  return isFull ? full : quick;
}

/**
 * A time bound of the contract in milliseconds. A quick run shares its machine with other work, so its bound is wider:
 * it still distinguishes an answer from a hang.
 */
export function boundMs(ms: number): number {
  return isFull ? ms : ms * 3;
}

/**
 * The pause of a sender between two orders. A quick run shares its machine, so senders leave it time: more orders a
 * second prove nothing, and take the CPU from what restarts meanwhile.
 */
export const betweenOrders = (): Promise<void> => (isFull ? Promise.resolve() : delay(25));
