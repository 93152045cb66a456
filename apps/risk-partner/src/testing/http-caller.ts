import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
}

export interface Sent {
  readonly key?: string;
  readonly body?: unknown;
  /** Sent unchanged instead of `body`. */
  readonly rawBody?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpCaller {
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  get(path: string, key?: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  close(): void;
}

/** Sends requests over keep-alive connections and returns responses unchanged. */
export function httpCaller(baseUrl: string): HttpCaller {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const send: HttpCaller['send'] = (method, path, { key, body, rawBody, headers = {} } = {}) => {
    const payload = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
    const url = new URL(baseUrl);
    const options = {
      agent,
      method,
      host: url.hostname,
      port: url.port,
      path,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }),
        ...headers,
      },
    };
    return new Promise((resolve, reject) => {
      const request = httpRequest(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const isJson = /json/.test(response.headers['content-type'] ?? '') && text !== '';
          const json: unknown = isJson ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
        });
      });
      request.on('error', reject);
      request.end(payload);
    });
  };
  return {
    send,
    get: (path, key, headers) =>
      send('GET', path, { ...(key === undefined ? {} : { key }), ...(headers && { headers }) }),
    close: () => agent.destroy(),
  };
}

/** `400 INVALID_REQUEST /title` for an error: status, code, and the pointer of each fault. `200 ` for a success. */
export async function refusalText(
  answer: Promise<{ readonly status: number; readonly json: unknown }>,
): Promise<string> {
  const { status, json } = await answer;
  const { code, errors = [] } = (json ?? {}) as { code?: string; errors?: { pointer: string }[] };
  return [status, code, ...errors.map(({ pointer }) => pointer)].join(' ');
}

/** Runs the jobs with limited concurrency; results are in the order of the jobs. */
export async function inParallel<Job, Result>(
  jobs: readonly Job[],
  work: (job: Job) => Promise<Result>,
  width = 16,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < jobs.length; index = next++) results[index] = await work(jobs[index]!);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
