import type { IncomingMessage } from 'node:http';

/** Hop-by-hop headers (RFC 9110, section 7.6.1), and older ones. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
];

/**
 * Request headers that are not forwarded: credentials for the console, headers that only the console may set for a
 * surface, and headers about the calling page.
 */
const NOT_SENT: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'host',
  'cookie',
  'authorization',
  'x-api-key',
  'x-request-id',
  'traceparent',
  'tracestate',
  'x-sealgate-console',
  'origin',
  'referer',
  'expect',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
]);

/**
 * Response headers that are not forwarded: those that would act on the console's origin (cookies, storage, CORS), and
 * those that the console sets itself.
 */
const NOT_PASSED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'set-cookie',
  'clear-site-data',
  'service-worker-allowed',
  'content-security-policy',
  'content-security-policy-report-only',
  'strict-transport-security',
  'x-request-id',
  'www-authenticate',
]);

/** Makes every forwarded document a sandboxed one without an origin, in which nothing runs. */
const ANSWER_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/** The request headers sent to a surface: names and values alternating, as the browser wrote them. */
export function requestHeaders(
  request: IncomingMessage,
  {
    host,
    hasBody,
    added,
  }: {
    readonly host: string;
    readonly hasBody: boolean;
    readonly added: readonly (readonly [name: string, value: string])[];
  },
): string[] {
  const { rawHeaders, headers } = request;
  const named = namedByConnection(headers.connection);
  const sent = ['Host', host];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    const lowerCase = name.toLowerCase();
    const isOfBody = lowerCase === 'content-length' || lowerCase === 'content-type' || lowerCase === 'content-encoding';
    if (NOT_SENT.has(lowerCase) || named.has(lowerCase) || lowerCase.startsWith('sec-')) continue;
    if (isOfBody && !hasBody) continue;
    sent.push(name, rawHeaders[i + 1]!);
  }
  for (const [name, value] of added) sent.push(name, value);
  if (hasBody) sent.push(...lengthOf(request));
  return sent;
}

/** A body without Content-Length is chunked; no body is sent as length 0. */
function lengthOf({ headers }: IncomingMessage): string[] {
  if (headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked'];
  return headers['content-length'] === undefined ? ['Content-Length', '0'] : [];
}

/** The response headers sent to the browser. */
export function answerHeaders(answer: IncomingMessage): Map<string, string | string[]> {
  const named = namedByConnection(answer.headers.connection);
  const passed = new Map<string, string | string[]>();
  for (const [name, values = []] of Object.entries(answer.headersDistinct)) {
    if (NOT_PASSED.has(name) || named.has(name) || name.startsWith('access-control-')) continue;
    passed.set(name, values.length === 1 ? values[0]! : values);
  }
  passed.set('Content-Security-Policy', ANSWER_POLICY);
  return passed;
}

const namedByConnection = (connection: string | undefined): ReadonlySet<string> =>
  new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
