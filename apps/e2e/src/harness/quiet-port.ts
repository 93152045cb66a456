import { createServer } from 'node:net';

/** Below the ephemeral port ranges of systems (from 32768 on Linux, 49152 elsewhere). */
const first = 12_000;
const count = 20_000;
const tries = 50;

/**
 * A free loopback port outside the ephemeral range: a server that is killed and restarted finds it free, however many
 * outgoing connections were opened meanwhile.
 */
export async function quietPort(): Promise<number> {
  for (let left = tries; left > 0; left -= 1) {
    const port = first + Math.floor(Math.random() * count);
    if (await isFree(port)) return port;
  }
  throw new Error(`None of ${tries} ports is free.`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
