import { createServer } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Certificates } from './certificates.ts';
import type { History } from './history.ts';
import type { Random } from './random.ts';
import { nowMs } from './now.ts';

/** Our receiver of pushed events: it writes each into the history, and refuses some, so that they are repeated. */
export interface Receiver {
  readonly url: string;
  /** How many came so far, repetitions included. */
  readonly pushes: number;
  /** From whom the pushes are. */
  expect(subscription: string): void;
  stop(): void;
}

/** A refused push is repeated after seconds, and nothing comes before it; each refusal in a row doubles them. */
const REFUSED_EVERY_MS = 20_000;

export async function openReceiver(
  { receiver: { cert, key } }: Certificates,
  history: History,
  random: Random,
): Promise<Receiver> {
  let [subscription, pushes] = ['', 0];
  let [refusesAtMs, wasRefused] = [nowMs(), false];
  const server = createServer({ cert, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isRefused = !wasRefused && nowMs() >= refusesAtMs;
      wasRefused = isRefused;
      if (isRefused) refusesAtMs = nowMs() + random.below(2 * REFUSED_EVERY_MS);
      const status = isRefused ? 500 : 204;
      pushes += 1;
      const text = Buffer.concat(chunks).toString('utf8');
      history.add({ is: 'pushed', subscription, atMs: nowMs(), headers: plain(request.headers), text, status });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}/in`,
    get pushes() {
      return pushes;
    },
    expect: (id) => (subscription = id),
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const plain = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
