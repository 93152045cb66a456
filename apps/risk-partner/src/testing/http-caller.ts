import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
}

interface Sent {
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
          const isJson = /[/+]json(;|$)/.test(response.headers['content-type'] ?? '') && text !== '';
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

/** The outcome of a tool call: structured content, a JSON-RPC error, or an HTTP error. */
interface ToolAnswer {
  readonly status: number;
  readonly isError: boolean;
  readonly content: Readonly<Record<string, unknown>>;
  readonly error: { readonly code: number } | undefined;
}

export const MCP_HEADERS = { accept: 'application/json, text/event-stream' };

/** Calls a tool over HTTP, and checks that structured content and text are equal. */
export async function callTool(
  api: HttpCaller,
  key: string | undefined,
  name: string,
  args: Readonly<Record<string, unknown>>,
): Promise<ToolAnswer> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
  const answer = await api.send('POST', '/mcp', { ...(key === undefined ? {} : { key }), body, headers: MCP_HEADERS });
  if (answer.status !== 200) {
    const content = answer.json as ToolAnswer['content'];
    return { status: answer.status, isError: true, content, error: undefined };
  }
  const { result, error } = answer.json as {
    result?: { content: [{ text: string }]; structuredContent: ToolAnswer['content']; isError?: boolean };
    error?: { code: number };
  };
  if (result === undefined) return { status: 200, isError: true, content: {}, error };
  const text: unknown = JSON.parse(result.content[0].text);
  if (JSON.stringify(text) !== JSON.stringify(result.structuredContent))
    throw new Error(`${name}: structuredContent is not what the text says.`);
  const isError = result.isError === true;
  const status = isError ? Number(result.structuredContent['status']) : 200;
  return { status, isError, content: result.structuredContent, error: undefined };
}
