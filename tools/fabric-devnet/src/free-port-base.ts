import { isPortFree } from '@sealgate/local-services';
import { DevnetError } from './devnet-error.ts';
import { highestPortOffset } from './network-plan.ts';

/** Below the ports that systems give to outgoing connections, any of which may be taken at any moment. */
const LOWEST = 20_000;
const PLACES = 300;
const APART = 40;

/**
 * A `portBase` for a network that need not stay: nobody listened on any of its ports a moment ago. Where to begin to look
 * is by chance (`random`, 0 <= x < 1), so that two that look at the same time rarely meet.
 *
 * @throws DevnetError where there is none.
 */
export async function freePortBase(random: () => number = Math.random): Promise<number> {
  const first = Math.floor(random() * PLACES);
  for (let tried = 0; tried < PLACES; tried += 1) {
    const base = LOWEST + ((first + tried) % PLACES) * APART;
    if (await areFree(base)) return base;
  }
  throw new DevnetError('There is no room for the ports of a network between 20000 and 32000.');
}

async function areFree(base: number): Promise<boolean> {
  for (let offset = 1; offset <= highestPortOffset; offset += 1) {
    if (!(await isPortFree(base + offset))) return false;
  }
  return true;
}
