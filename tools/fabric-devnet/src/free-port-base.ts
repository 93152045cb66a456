import { isPortFree } from '@sealgate/local-services';
import { DevnetError } from './devnet-error.ts';
import { highestPortOffset } from './network-plan.ts';

/** Below the ephemeral port range, any port of which may be taken by an outgoing connection. */
const LOWEST = 20_000;
const PLACES = 200;
const APART = 60;

/**
 * A `portBase` for a temporary network, with no port in use a moment ago. The search starts at a random place
 * (`random`, 0 <= x < 1), so that parallel callers rarely collide.
 *
 * @throws DevnetError if there is none.
 */
export async function freePortBase(random: () => number = Math.random): Promise<number> {
  const first = Math.floor(random() * PLACES);
  for (let tried = 0; tried < PLACES; tried += 1) {
    const base = LOWEST + ((first + tried) % PLACES) * APART;
    if (await areFree(base)) return base;
  }
  throw new DevnetError('There are not enough free ports for a network between 20000 and 32000.');
}

async function areFree(base: number): Promise<boolean> {
  for (let offset = 1; offset <= highestPortOffset; offset += 1) {
    if (!(await isPortFree(base + offset))) return false;
  }
  return true;
}
