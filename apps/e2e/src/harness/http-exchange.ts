import { connect, type Socket } from 'node:net';

/** A header with a list is sent once per value. Names are sent as written here. */
export type HeaderLines = Readonly<Record<string, string | readonly string[]>>;

export interface HttpRequest {
  readonly method?: string;
  /** Sent in the request line as it is, so that paths no client library would send are possible. */
  readonly path: string;
  readonly headers?: HeaderLines;
  readonly body?: string | Buffer;
  readonly timeoutMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  /** By lower-case name; a repeated header is a list. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Parsed where the Content-Type is JSON, else undefined. */
  readonly body: unknown;
  /** From the first byte sent to the last one received. */
  readonly durationMs: number;
  readonly closes: boolean;
}

const endOfHeaders = Buffer.from('\r\n\r\n');

/** The bytes of one HTTP/1.1 request. */
export function encodeRequest({ method = 'GET', path, headers = {}, body = '' }: HttpRequest, host: string): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  let head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n`;
  for (const [name, values] of Object.entries(headers)) {
    for (const value of typeof values === 'string' ? [values] : values) head += `${name}: ${value}\r\n`;
  }
  const isCounted = names.has('content-length') || names.has('transfer-encoding');
  if (!isCounted && (bytes.length > 0 || method === 'POST')) head += `Content-Length: ${bytes.length}\r\n`;
  return Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), bytes]);
}

/**
 * Sends one request over a connection that is exclusively used for it, and reads its answer. Rejects when the
 * connection ends first, when the answer has no Content-Length (our services always send one), and at the timeout.
 */
export function exchange(
  socket: Socket,
  bytes: Buffer,
  options: { method: string; timeoutMs: number },
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    let chunks: Buffer[] = [];
    let size = 0;
    let wanted = 0;
    const settle = (): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose).off('error', onError);
    };
    const fail = (error: Error): void => {
      settle();
      socket.destroy();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      size += chunk.length;
      // One copy of a large body: a copy for each chunk of it would take longer than all the rest.
      if (size < wanted) return;
      const received = Buffer.concat(chunks);
      chunks = [received];
      try {
        const answer = decodeAnswer(received, options.method, performance.now() - startedMs);
        if (typeof answer === 'number') {
          wanted = answer;
          return;
        }
        settle();
        resolve(answer);
      } catch (error) {
        fail(error instanceof Error ? error : new Error(String(error)));
      }
    };
    const onClose = (): void => fail(new Error('The connection ended before the answer did.'));
    const onError = (error: Error): void => fail(error);
    const timer = setTimeout(() => fail(new Error(`No answer within ${options.timeoutMs} ms.`)), options.timeoutMs);
    socket.on('data', onData).on('close', onClose).on('error', onError);
    socket.write(bytes);
  });
}

/** How many bytes it has at least, while the answer is not complete. */
function decodeAnswer(received: Buffer, method: string, durationMs: number): HttpAnswer | number {
  const end = received.indexOf(endOfHeaders);
  if (end < 0) return received.length + 1;
  const [statusLine = '', ...lines] = received.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) /.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`This is no status line: ${statusLine}`);
  const headers = headersOf(lines);
  const start = end + endOfHeaders.length;
  const length = bodyLength(status, method, headers);
  if (received.length < start + length) return start + length;
  if (received.length > start + length) throw new Error('More came than the answer said.');
  const text = received.toString('utf8', start);
  const isJson = /json/.test(String(headers['content-type']));
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : undefined;
  return { status, headers, text, body, durationMs, closes: headers['connection'] === 'close' };
}

function headersOf(lines: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const earlier = headers[name];
    headers[name] = earlier === undefined ? value : [...(typeof earlier === 'string' ? [earlier] : earlier), value];
  }
  return headers;
}

function bodyLength(status: number, method: string, headers: Readonly<Record<string, unknown>>): number {
  if (method === 'HEAD' || status === 204 || status === 304) return 0;
  const length = Number(headers['content-length']);
  if (!Number.isSafeInteger(length)) throw new Error(`The answer ${status} does not say how long it is.`);
  return length;
}

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
