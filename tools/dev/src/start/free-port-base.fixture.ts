import { isPortFree } from '@sealgate/local-services';

const offsets = [1, 2, 3, 4, 5, 51, 52, 53, 54, 55, 80, 90, 91, 101, 102, 103, 104, 105];

/**
 * A port base for a start, below the ephemeral port range, so that no other process takes a port, and above all ports that
 * fetch refuses.
 */
export async function freePortBase(): Promise<number> {
  for (;;) {
    const base = 10_100 + Math.floor(Math.random() * 150) * 120;
    const free = await Promise.all(offsets.map((offset) => isPortFree(base + offset)));
    if (free.every(Boolean)) return base;
  }
}
