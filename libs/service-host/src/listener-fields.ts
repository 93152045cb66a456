import { isIP, isIPv4 } from 'node:net';
import { safeUrl, tokenHashes } from '@sealgate/auth';
import { type AdminRule, type OidcIssuer, parseAdminRules, parseIssuers } from '@sealgate/identity';
import { LOG_LEVELS } from '@sealgate/observability';
import { booleanField, choiceField, customField, integerField, textField } from './load-config.ts';
import { listText } from './store-fields.ts';

/** The trusted proxies, in the form of Express's `trust proxy`. */
export type TrustedProxies = false | number | readonly string[];

const NAMED_RANGES: ReadonlySet<string> = new Set(['loopback', 'linklocal', 'uniquelocal']);

/**
 * Parses `false`, a number of hops, or addresses and subnets separated by commas. `true` is refused: it would trust any
 * X-Forwarded-For.
 * @throws Error stating the expected format.
 */
function parseTrustProxy(text: string): TrustedProxies {
  if (text === 'false') return false;
  if (/^[0-9]{1,2}$/.test(text)) return Number(text);
  const ranges = text.split(',').map((range) => range.trim());
  if (!ranges.every(isRange)) {
    throw new Error('must be false, a number of hops, or addresses, subnets, loopback, linklocal, uniquelocal');
  }
  return ranges;
}

function isRange(text: string): boolean {
  if (NAMED_RANGES.has(text)) return true;
  const [address = '', bits, ...rest] = text.split('/');
  if (isIP(address) === 0 || rest.length > 0) return false;
  return bits === undefined || (/^[0-9]{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128));
}

const PAIR = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+=[^,;"\\\s]*$/;

/**
 * Parses `key=value` pairs of OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS, with percent-encoded values.
 * @throws Error
 */
function parsePairs(text: string): Readonly<Record<string, string>> {
  const pairs = text
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '');
  if (!pairs.every((pair) => PAIR.test(pair))) throw new Error('must be key=value pairs separated by commas');
  try {
    const decoded = pairs.map((pair) => {
      const end = pair.indexOf('=');
      return [pair.slice(0, end), decodeURIComponent(pair.slice(end + 1))] as const;
    });
    return Object.fromEntries(decoded);
  } catch {
    throw new Error('must have percent-encoded values');
  }
}

const pairs = {
  form: '`key=value` pairs separated by commas, values percent-encoded',
  fallback: { value: {}, shown: 'none' },
  parse: parsePairs,
} as const;

/** The samplers of the OpenTelemetry specification that need no external service. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/**
 * Tracing settings, under OpenTelemetry's standard names. Other `OTEL_` variables are ignored: platforms set them in
 * every pod.
 */
export const tracingFields = {
  otlpEndpoint: customField<string | undefined>({
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description:
      'Base URL of an OpenTelemetry collector; spans are sent to `/v1/traces` below it. Without it tracing is off.',
    form: 'an `http://` or `https://` URL without a user, query or fragment',
    fallback: { value: undefined, shown: 'none' },
    parse: (text) => {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      const isPlain = url !== undefined && url.username === '' && url.search === '' && url.hash === '';
      if (!isPlain || !['http:', 'https:'].includes(url.protocol))
        throw new Error('must be an http:// or https:// URL without a user, query or fragment');
      return `${text.replace(/\/+$/, '')}/v1/traces`;
    },
  }),
  otlpProtocol: choiceField({
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    description: 'Export protocol; gRPC is not supported.',
    choices: ['http/protobuf'],
    default: 'http/protobuf',
  }),
  otlpHeaders: customField<Readonly<Record<string, string>>>({
    ...pairs,
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    description: 'Headers of every export, for a collector that requires a token.',
    isSecret: true,
  }),
  otlpCertificate: textField({
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    description: "PEM file of the CAs to trust for the collector's certificate, in place of Node's.",
    default: undefined,
  }),
  otelServiceName: textField({
    name: 'OTEL_SERVICE_NAME',
    description:
      '`service.name` of the spans; default: that of OTEL_RESOURCE_ATTRIBUTES, then the name of the service.',
    default: undefined,
  }),
  otelResourceAttributes: customField<Readonly<Record<string, string>>>({
    ...pairs,
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    description: 'Further resource attributes of the spans: `deployment.environment.name=live`.',
  }),
  otelTracesSampler: choiceField({
    name: 'OTEL_TRACES_SAMPLER',
    description:
      'Which traces are sampled. `parentbased_` samplers follow the caller; with untrusted callers use `traceidratio`, which decides here.',
    choices: SAMPLERS,
    default: 'parentbased_always_on',
  }),
  otelTracesSamplerArg: customField<number>({
    name: 'OTEL_TRACES_SAMPLER_ARG',
    description: 'Fraction of traces that the `traceidratio` samplers keep.',
    form: 'a number from 0 to 1',
    fallback: { value: 1, shown: '`1`' },
    parse: (text) => {
      const share = /^(0|1|[01]?\.[0-9]{1,9})$/.test(text) ? Number(text) : Number.NaN;
      if (!(share >= 0 && share <= 1)) throw new Error('must be a number from 0 to 1');
      return share;
    },
  }),
};

export interface TracingConfig {
  /** Full URL. Undefined: tracing is off and OpenTelemetry is not loaded. */
  readonly otlpEndpoint: string | undefined;
  readonly otlpHeaders: Readonly<Record<string, string>>;
  readonly otlpCertificate: string | undefined;
  readonly otelServiceName: string | undefined;
  readonly otelResourceAttributes: Readonly<Record<string, string>>;
  readonly otelTracesSampler: (typeof SAMPLERS)[number];
  readonly otelTracesSamplerArg: number;
}

const port = { min: 0, max: 65_535 } as const;

const rate = { min: 1, max: 1_000_000 } as const;

const ownFields = {
  port: integerField({ ...port, name: 'PORT', description: 'Port of the public listener.', default: 8080 }),
  host: textField({ name: 'HOST', description: 'Address of the public listener.', default: '127.0.0.1' }),
  opsPort: integerField({ ...port, name: 'OPS_PORT', description: 'Port for probes and scrapers.', default: 8081 }),
  opsHost: textField({ name: 'OPS_HOST', description: 'Address for probes and scrapers.', default: '127.0.0.1' }),
};

const adminFields = {
  adminPort: integerField({
    ...port,
    name: 'ADMIN_PORT',
    description: 'Port of the admin listener, which is off unless this is set.',
    default: undefined,
  }),
  adminHost: textField({ name: 'ADMIN_HOST', description: 'Address of the admin listener.', default: '127.0.0.1' }),
  adminTokenHashes: customField({
    name: 'ADMIN_TOKEN_HASHES',
    description: 'Static tokens of the admin listener; without any token or sign-in, all its paths answer 404.',
    form: 'SHA-256 hashes in hex, separated by commas; or `file:///path` of a file with them, re-read while running',
    isSecret: true,
    fallback: { value: tokenHashes(() => ''), shown: 'none' },
    parse: (text) => tokenHashes(() => listText(text)),
  }),
  oidcIssuers: customField({
    name: 'OIDC_ISSUERS',
    description: 'OpenID Connect providers whose access tokens are accepted, with the audiences of each listener.',
    form: 'a JSON list of `{"issuer", "audience": {"api"?: [...], "admin"?: [...], "mcp"?: [...]}, "scopes"?: {"mcp"?: [...]}, "identityClaim"?, "jwksUri"?}`; URLs are https, or http on loopback',
    fallback: { value: [], shown: 'none' },
    parse: parseIssuers,
  }),
  adminOidc: customField({
    name: 'ADMIN_OIDC',
    description:
      'Claims of access tokens that grant roles on the admin listener: operators may do everything, viewers only read.',
    form: 'a JSON list of `{"claim", "value", "role": "operator" or "viewer", "issuer"?}`; a claim is a name or a JSON pointer',
    fallback: { value: [], shown: 'none' },
    parse: (text) => parseAdminRules(text),
  }),
  adminRatePerSecond: integerField({
    ...rate,
    name: 'ADMIN_RATE_PER_SECOND',
    description: 'Requests per second allowed for one caller of the admin listener.',
    default: 200,
  }),
  adminRateBurst: integerField({
    ...rate,
    name: 'ADMIN_RATE_BURST',
    description: 'Burst of requests allowed for one caller of the admin listener.',
    default: 2000,
  }),
};

const transportFields = {
  tlsCertFile: textField({
    name: 'TLS_CERT_FILE',
    description: 'PEM certificate chain of the public listener, reloaded when it changes.',
    default: undefined,
  }),
  tlsKeyFile: textField({ name: 'TLS_KEY_FILE', description: 'PEM key of that certificate.', default: undefined }),
  tlsTerminatedUpstream: booleanField({
    name: 'TLS_TERMINATED_UPSTREAM',
    description: 'Whether a proxy terminates TLS; required to listen off loopback without a certificate.',
    default: false,
  }),
  trustProxy: customField({
    name: 'TRUST_PROXY',
    description: 'Proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted.',
    form: '`false`, a number of hops, or addresses and subnets separated by commas',
    fallback: { value: false, shown: '`false`' },
    parse: parseTrustProxy,
  }),
  drainDelayMs: integerField({
    name: 'DRAIN_DELAY_MS',
    description: 'How long a stopping service keeps listening, so that load balancers see that it is not ready.',
    min: 0,
    max: 60_000,
    default: 0,
  }),
  drainTimeoutMs: integerField({
    name: 'DRAIN_TIMEOUT_MS',
    description: 'How long a stopping service waits for requests in flight.',
    min: 0,
    max: 300_000,
    default: 20_000,
  }),
  logLevel: choiceField({
    name: 'LOG_LEVEL',
    description: 'Minimum level of log lines.',
    choices: LOG_LEVELS,
    default: 'info',
  }),
  ...tracingFields,
};

/** Settings of the listeners, for every surface: spread them into its fields. */
export const listenerFields = { ...ownFields, ...adminFields, ...transportFields };

/** Those of a service without an admin listener. */
export const publicListenerFields = { ...ownFields, ...transportFields };

/** Settings of a service that publishes its URL in OpenAPI or other metadata. */
export const publicUrlFields = {
  publicUrl: customField<string | undefined>({
    name: 'PUBLIC_URL',
    description: 'URL of the public listener for clients: the server of the OpenAPI document; default: relative.',
    form: 'a URL that begins with `https://`, or on loopback with `http://`, without trailing slash, query or fragment',
    fallback: { value: undefined, shown: 'none' },
    parse: parsePublicUrl,
  }),
};

/** Clients send their keys to this URL, and it is joined with paths and used as a URI template. @throws Error */
function parsePublicUrl(text: string): string {
  if (safeUrl(text) === undefined)
    throw new Error('must be a URL that begins with https://, or on loopback with http://, without a user');
  if (!/^https?:\/\/[!-~]+$/i.test(text) || /[?#{}\\]|\/$/.test(text))
    throw new Error('must be in ASCII, without trailing slash, query, fragment or braces');
  return text;
}

/** Faults in combinations of the listeners' variables; for `check` of `loadConfig`. */
export function listenerFaults(config: {
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  readonly oidcIssuers: readonly OidcIssuer[];
  readonly adminOidc: readonly AdminRule[];
}): string[] {
  const { tlsCertFile, tlsKeyFile, oidcIssuers, adminOidc } = config;
  const withAdmin = oidcIssuers.filter(({ audience }) => (audience.admin ?? []).length > 0);
  const isUnknown = ({ issuer }: AdminRule) =>
    issuer === undefined ? withAdmin.length === 0 : !withAdmin.some((known) => known.issuer === issuer);
  return [
    ...((tlsCertFile === undefined) === (tlsKeyFile === undefined)
      ? []
      : ['TLS_CERT_FILE, TLS_KEY_FILE: must be set together']),
    ...(adminOidc.some(isUnknown)
      ? ['ADMIN_OIDC: must name issuers of OIDC_ISSUERS that have an audience for admin']
      : []),
  ];
}
