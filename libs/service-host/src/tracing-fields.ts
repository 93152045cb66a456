import { choiceField, customField, textField } from './config-field.ts';

const PAIR = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+=[^,;"\\\s]*$/;

/** `key=value` pairs as OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS write them: values percent-encoded. @throws Error */
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

/** What OpenTelemetry's specification calls its samplers, as far as they need no service of their own. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Tracing, under OpenTelemetry's own names. Other `OTEL_` variables are ignored: platforms set them in every pod. */
export const tracingFields = {
  otlpEndpoint: customField<string | undefined>({
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description:
      'Base URL of an OpenTelemetry collector: `/v1/traces` below it takes the spans. Without it nothing is traced.',
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
    description: 'How spans are sent; gRPC is not spoken.',
    choices: ['http/protobuf'],
    default: 'http/protobuf',
  }),
  otlpHeaders: customField<Readonly<Record<string, string>>>({
    ...pairs,
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    description: 'Headers of every export, for a collector that asks for a token.',
    isSecret: true,
  }),
  otlpCertificate: textField({
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    description: "PEM file of the authorities that the collector's certificate may come from, in place of Node's own.",
    default: undefined,
  }),
  otelServiceName: textField({
    name: 'OTEL_SERVICE_NAME',
    description: '`service.name` of the spans; else that of OTEL_RESOURCE_ATTRIBUTES, else the name of the service.',
    default: undefined,
  }),
  otelResourceAttributes: customField<Readonly<Record<string, string>>>({
    ...pairs,
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    description: 'What else the spans say of this process: `deployment.environment.name=live`.',
  }),
  otelTracesSampler: choiceField({
    name: 'OTEL_TRACES_SAMPLER',
    description:
      'Which traces are kept. The `parentbased_` ones do as the caller of a request says; where strangers call, `traceidratio` keeps the decision here.',
    choices: SAMPLERS,
    default: 'parentbased_always_on',
  }),
  otelTracesSamplerArg: customField<number>({
    name: 'OTEL_TRACES_SAMPLER_ARG',
    description: 'Share of traces that the `traceidratio` samplers keep.',
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
  /** With its path. Undefined: nothing is traced, and nothing of OpenTelemetry is loaded. */
  readonly otlpEndpoint: string | undefined;
  readonly otlpHeaders: Readonly<Record<string, string>>;
  readonly otlpCertificate: string | undefined;
  readonly otelServiceName: string | undefined;
  readonly otelResourceAttributes: Readonly<Record<string, string>>;
  readonly otelTracesSampler: (typeof SAMPLERS)[number];
  readonly otelTracesSamplerArg: number;
}
