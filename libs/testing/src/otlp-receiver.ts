import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  /** As in opentelemetry/proto/trace/v1/trace.proto: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly string[];
  /** 2: error. */
  readonly status: number;
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Headers and path of each export. */
  readonly exports: { readonly path: string; readonly headers: Readonly<Record<string, unknown>> }[];
  /** The raw bodies, to check for content that must not be in them. */
  readonly bytes: Buffer[];
  close(): Promise<void>;
}

/** Receives OTLP over HTTP as protobuf, like a collector. `answer` replaces its response. */
export async function otlpReceiver(answer?: (response: ServerResponse) => void): Promise<OtlpReceiver> {
  const [spans, exports, bytes]: [ReceivedSpan[], OtlpReceiver['exports'], Buffer[]] = [[], [], []];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      exports.push({ path: request.url ?? '', headers: request.headers });
      if (answer !== undefined) return answer(response);
      const body = Buffer.concat(parts);
      bytes.push(body);
      spans.push(...spansOf(body));
      response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    exports,
    bytes,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Fields = Map<number, (Buffer | bigint)[]>;

/** Protobuf's wire format: https://protobuf.dev/programming-guides/encoding/ */
function fieldsOf(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const type = tag & 7;
    if (![0, 1, 2, 5].includes(type)) throw new Error(`Unknown wire type ${type}.`);
    const value = type === 0 ? varint() : take(type === 1 ? 8 : type === 5 ? 4 : Number(varint()));
    const number = tag >>> 3;
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields, number: number): Fields[] =>
  (fields.get(number) ?? []).map((value) => fieldsOf(value as Buffer));
const bytesAt = (fields: Fields, number: number): Buffer => (fields.get(number)?.[0] as Buffer) ?? Buffer.alloc(0);
const textAt = (fields: Fields, number: number): string => bytesAt(fields, number).toString();
const numberAt = (fields: Fields, number: number): number => Number(fields.get(number)?.[0] ?? 0n);

function attributesAt(fields: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(messages(fields, number).map((pair) => [textAt(pair, 1), valueOf(messages(pair, 2)[0])]));
}

/** AnyValue: a string, a bool, an int or a double. */
function valueOf(value: Fields | undefined): unknown {
  if (value?.has(1)) return textAt(value, 1);
  if (value?.has(2)) return numberAt(value, 2) === 1;
  if (value?.has(3)) return numberAt(value, 3);
  return value?.has(4) ? bytesAt(value, 4).readDoubleLE() : undefined;
}

function spansOf(body: Buffer): ReceivedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((ofResource) => {
    const resource = attributesAt(messages(ofResource, 1)[0] ?? new Map(), 1);
    return messages(ofResource, 2).flatMap((scope) => messages(scope, 2).map((span) => spanOf(span, resource)));
  });
}

function spanOf(span: Fields, resource: Record<string, unknown>): ReceivedSpan {
  return {
    traceId: bytesAt(span, 1).toString('hex'),
    spanId: bytesAt(span, 2).toString('hex'),
    traceState: textAt(span, 3),
    parentSpanId: bytesAt(span, 4).toString('hex'),
    name: textAt(span, 5),
    kind: numberAt(span, 6),
    startNs: bytesAt(span, 7).readBigUInt64LE(),
    endNs: bytesAt(span, 8).readBigUInt64LE(),
    attributes: attributesAt(span, 9),
    links: messages(span, 13).map((link) => bytesAt(link, 2).toString('hex')),
    status: numberAt(messages(span, 15)[0] ?? new Map(), 3),
    resource,
  };
}
