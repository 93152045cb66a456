import { createServer } from 'node:net';
import { systemCodeOf } from './local-service-error.ts';

const listenOnce = (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });

/**
 * A TCP port on 127.0.0.1 that nobody listened on a moment ago.
 * Somebody else may take it before the caller does: whoever binds it must be ready to ask for another.
 */
export function freePort(): Promise<number> {
  return listenOnce(0);
}

/** Whether the port can be listened on at 127.0.0.1 right now. Throws what is not about the port being taken. */
export async function isPortFree(port: number): Promise<boolean> {
  try {
    await listenOnce(port);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'EADDRINUSE') return false;
    throw error;
  }
}
