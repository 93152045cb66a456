import { connect } from 'node:net';
import { firstPage } from './reads-walk.ts';
import type { RiskSite } from '../gateway/risk-site.ts';
import { ResponseReader } from '../load/response-reader.ts';
import { median, quantile } from '../median.ts';

/** The time of one page over a connection of its own. */
export interface ColdPage {
  /** From 1. */
  readonly page: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const answerWithinMs = 10_000;

/** Reads each of these pages repeatedly, in turn, one request at a time and a new connection for each. */
export async function coldPages(
  site: RiskSite,
  { cursors, rounds, signal }: { cursors: readonly string[]; rounds: number; signal: AbortSignal },
): Promise<ColdPage[]> {
  const last = cursors.length + 1;
  const pages = [1, Math.ceil(last / 100), Math.ceil(last / 2), last].map((page) => ({ page, took: [] as number[] }));
  for (let round = 0; round < rounds; round += 1) {
    signal.throwIfAborted();
    // The first page of a round rotates, so that effects of a page on the next are shared.
    for (let place = 0; place < pages.length; place += 1) {
      const { page, took } = pages[(place + round) % pages.length]!;
      took.push(await readOnce(site, page === 1 ? firstPage : `${firstPage}&cursor=${cursors[page - 2]}`));
    }
  }
  return pages.map(({ page, took }) => ({ page, p50Ms: median(took), p99Ms: quantile(took, 0.99) }));
}

/** Milliseconds from before the connection is made to the last byte. @throws Error for any answer but 200. */
function readOnce({ surface, keys }: RiskSite, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const reader = new ResponseReader();
    const startedAt = performance.now();
    const socket = connect({ port: surface.port, host: '127.0.0.1', noDelay: true });
    socket.setTimeout(answerWithinMs, () => socket.destroy(new Error(`${path} was not answered in time.`)));
    socket.on('error', reject);
    socket.on('data', (bytes) => {
      if (!reader.take(bytes)) return;
      const tookMs = performance.now() - startedAt;
      socket.destroy();
      if (reader.status === 200) resolve(tookMs);
      else reject(new Error(`${path} answered ${reader.status}.`));
    });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${keys.partner}\r\n\r\n`);
  });
}
