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
 * A TCP port on 127.0.0.1 that was free a moment ago. Another process may take it first: the caller must be ready to
 * retry with another.
 */
export function freePort(): Promise<number> {
  return listenOnce(0);
}

/** Whether the port on 127.0.0.1 is free now. Rethrows errors other than EADDRINUSE. */
export async function isPortFree(port: number): Promise<boolean> {
  try {
    await listenOnce(port);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'EADDRINUSE') return false;
    throw error;
  }
}
