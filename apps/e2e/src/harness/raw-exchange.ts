import { connect } from 'node:net';

const timeoutMs = 10_000;

/** Sends exactly these characters, and returns all that comes back until the server closes the connection. */
export function rawExchange(origin: string, text: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    let said = '';
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error('The server did not close the connection in time.')));
    socket.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')));
    socket.on('close', () => resolve(said));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // Data still in flight when the server closed is answered with a reset, after its last data.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.write(text);
  });
}
