import { connect } from 'node:net';

const timeoutMs = 5_000;

/** Sends one command to Redis over a connection of its own, and returns the raw reply. */
export function redisCommand(url: string, ...words: readonly string[]): Promise<string> {
  const { hostname, port, username, password } = new URL(url);
  const login = [['AUTH', decodeURIComponent(username) || 'default', decodeURIComponent(password)]];
  const commands = [...(password === '' ? [] : login), words];
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    let said = '';
    const end = (error?: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      if (error !== undefined) reject(error);
    };
    const timer = setTimeout(() => end(new Error(`Redis did not answer ${words[0]} in time.`)), timeoutMs);
    socket.on('error', end);
    socket.on('close', () => end(new Error('Redis closed the connection.')));
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
      const replies = repliesIn(said);
      const failed = replies.find((reply) => reply.startsWith('-'));
      if (failed !== undefined) end(new Error(failed.trim()));
      else if (replies.length === commands.length) resolve(replies.at(-1)!.trim());
      else return;
      end();
    });
    socket.write(commands.map(encode).join(''));
  });
}

function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}

/** The complete replies: a status, error or number is one line, a bulk string two; others are not requested here. */
function repliesIn(text: string): string[] {
  return [...text.matchAll(/\$-1\r\n|\$\d+\r\n[^]*?\r\n|[+:-][^\r]*\r\n/gy)].map(([reply]) => reply);
}
