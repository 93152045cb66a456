import { connect } from 'node:net';

const timeoutMs = 5_000;

/** Sends one command to a Redis on loopback, over a connection of its own, and gives the reply as it came. */
export function redisCommand(port: number, ...words: readonly string[]): Promise<string> {
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  const bytes = `*${words.length}\r\n${parts.join('')}`;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    let said = '';
    const timer = setTimeout(() => end(new Error(`Redis did not answer ${words[0]} in time.`)), timeoutMs);
    const end = (error?: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      if (error !== undefined) reject(error);
      else if (said.startsWith('-')) reject(new Error(said.trim()));
      else resolve(said.trim());
    };
    socket.on('error', end);
    socket.on('close', () => end(new Error('Redis closed the connection.')));
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
      if (isComplete(said)) end();
    });
    socket.write(bytes);
  });
}

/** Status, error and number are one line; a bulk string says how long it is; nothing else is asked for here. */
function isComplete(reply: string): boolean {
  const lineEnd = reply.indexOf('\r\n');
  if (lineEnd < 0) return false;
  if (!reply.startsWith('$')) return true;
  const length = Number(reply.slice(1, lineEnd));
  return length < 0 || Buffer.byteLength(reply) >= lineEnd + 2 + length + 2;
}
