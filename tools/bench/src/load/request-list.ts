import type { Destination, LoadPlan, PlannedRequest } from './load-plan.ts';
import { RequestTemplate } from './request-template.ts';

/** The requests of one connection, one after another. */
export interface RequestSource {
  next(): Buffer;
}

/** The requests of a connection: those of the plan's list, or a template with its own keys. */
export function requestsOf(plan: LoadPlan, connection: number): RequestSource {
  const destination = plan.destinations[connection % plan.destinations.length]!;
  const { requests, firstRequest, connections } = plan;
  if (requests !== undefined) {
    const order = firstRequest === undefined ? randomOrder(connection) : inTurn(firstRequest + connection, connections);
    return new RequestList(requests, destination, order);
  }
  const group = Math.floor(connection / (plan.connectionsPerKey ?? 1));
  return new RequestTemplate({ ...destination, ...plan, keyPrefix: `${plan.keyPrefix}-${group}-` });
}

/** Made into bytes when first picked, so picking one again costs nothing; `order` returns a number for each request. */
export class RequestList implements RequestSource {
  readonly #requests: readonly PlannedRequest[];
  readonly #to: Pick<Destination, 'port' | 'headers'>;
  readonly #bytes: (Buffer | undefined)[];
  readonly #order: () => number;

  constructor(requests: readonly PlannedRequest[], to: Pick<Destination, 'port' | 'headers'>, order: () => number) {
    if (requests.length === 0) throw new Error('A list of requests has at least one.');
    this.#requests = requests;
    this.#to = to;
    this.#bytes = bytesOf(requests, to);
    this.#order = order;
  }

  next(): Buffer {
    const at = this.#order() % this.#requests.length;
    return (this.#bytes[at] ??= requestBytes(this.#requests[at]!, this.#to));
  }
}

/** The same in each run, and different for each connection. */
export function randomOrder(connection: number): () => number {
  let state = (connection + 1) * 0x9e3779b9;
  return () => {
    // Marsaglia's xorshift with 32 bits: its cycle contains all states but 0.
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** Over all connections together: each request is sent once before the first repeats. */
export function inTurn(first: number, connections: number): () => number {
  let at = first - connections;
  return () => (at += connections);
}

/** Connections of a round that send the same requests with the same headers share the bytes. */
const made = new WeakMap<readonly PlannedRequest[], Map<string, (Buffer | undefined)[]>>();

function bytesOf(
  requests: readonly PlannedRequest[],
  { headers }: Pick<Destination, 'headers'>,
): (Buffer | undefined)[] {
  const ofHeaders = made.get(requests) ?? new Map<string, (Buffer | undefined)[]>();
  made.set(requests, ofHeaders);
  const key = JSON.stringify(headers);
  const bytes = ofHeaders.get(key) ?? [];
  ofHeaders.set(key, bytes);
  return bytes;
}

function requestBytes(
  { method, path, body }: PlannedRequest,
  { port, headers }: Pick<Destination, 'port' | 'headers'>,
): Buffer {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body ?? '')]);
}
