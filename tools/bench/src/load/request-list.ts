import type { LoadPlan, PlannedRequest } from './load-plan.ts';
import { RequestTemplate } from './request-template.ts';

/** The requests of one connection, one after another. */
interface RequestSource {
  next(): Buffer;
}

/** The requests of a connection: those of the plan's list in random order, or a template with its own keys. */
export function requestsOf(plan: LoadPlan, connection: number): RequestSource {
  const { requests, bodies, firstBody, keyPrefix } = plan;
  if (requests !== undefined) return new RequestList({ ...plan, requests }, connection);
  if (bodies !== undefined && firstBody !== undefined)
    return new BodiesInTurn({ ...plan, bodies, firstBody }, connection);
  const body = bodies?.[connection % bodies.length] ?? plan.body;
  const group = Math.floor(connection / (plan.connectionsPerKey ?? 1));
  return new RequestTemplate({ ...plan, body, keyPrefix: `${keyPrefix}-${group}-` });
}

/** Prepared as bytes, so picking one costs nothing. */
export class RequestList implements RequestSource {
  readonly #requests: readonly Buffer[];
  #state: number;

  constructor(
    { port, headers, requests }: Pick<LoadPlan, 'port' | 'headers'> & { readonly requests: readonly PlannedRequest[] },
    connection: number,
  ) {
    if (requests.length === 0) throw new Error('A list of requests has at least one.');
    this.#requests = bytesOf(requests, { port, headers });
    this.#state = (connection + 1) * 0x9e3779b9;
  }

  /** A random next one: the order is the same in each run, and different for each connection. */
  next(): Buffer {
    // Marsaglia's xorshift with 32 bits: its cycle contains all states but 0.
    let state = this.#state | 0;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return this.#requests[(state >>> 0) % this.#requests.length]!;
  }
}

/** Every body in turn, over all connections: each is sent once before the first repeats. */
export class BodiesInTurn implements RequestSource {
  readonly #requestOf: (at: number) => Buffer;
  readonly #step: number;
  #at: number;

  constructor(
    {
      port,
      path,
      headers,
      bodies,
      firstBody,
      connections,
    }: Pick<LoadPlan, 'port' | 'path' | 'headers' | 'connections'> & Required<Pick<LoadPlan, 'bodies' | 'firstBody'>>,
    connection: number,
  ) {
    if (bodies.length === 0) throw new Error('There is at least one body.');
    this.#requestOf = (at) =>
      requestBytes({ method: 'POST', path, body: bodies[at % bodies.length]! }, { port, headers });
    this.#step = connections;
    this.#at = firstBody + connection;
  }

  next(): Buffer {
    const request = this.#requestOf(this.#at);
    this.#at += this.#step;
    return request;
  }
}

/** All connections of a round send the same requests, so they share the bytes. */
const made = new WeakMap<readonly PlannedRequest[], readonly Buffer[]>();

function bytesOf(requests: readonly PlannedRequest[], to: Pick<LoadPlan, 'port' | 'headers'>): readonly Buffer[] {
  const known = made.get(requests);
  if (known !== undefined) return known;
  const bytes = requests.map((request) => requestBytes(request, to));
  made.set(requests, bytes);
  return bytes;
}

function requestBytes(
  { method, path, body }: PlannedRequest,
  { port, headers }: Pick<LoadPlan, 'port' | 'headers'>,
): Buffer {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}
