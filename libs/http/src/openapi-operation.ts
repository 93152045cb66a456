import assert from 'node:assert/strict';
import { CATALOGUE, type ErrorCode, PROBLEM_MEDIA_TYPE } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import type { Components } from './openapi-components.ts';
import { pathTemplate } from './paths.ts';
import { codesName, errorCodesOf, readsIdempotencyKey } from './problems.ts';
import { JSON_SUFFIX } from './read-body.ts';
import type { AnyRoute, ResponseSpec } from './route.ts';
import { DECIMAL_KEYWORD, enumOf, type JsonObject, named, nameOf } from './schemas.ts';

const HEADERS = {
  'X-Request-Id': 'The id of this request: the one sent, or a generated one.',
  'RateLimit-Policy': 'Rate limit policies of this key (draft-ietf-httpapi-ratelimit-headers).',
  RateLimit: 'Remaining quota of the most exhausted limit.',
  'Retry-After': 'Whole seconds to wait before a retry.',
  'Idempotent-Replayed': '`true` when a stored answer is replayed; absent otherwise.',
  'WWW-Authenticate': 'The required authentication scheme.',
} as const;

type HeaderName = keyof typeof HEADERS;

/** The operation object of one route. Shared parts are added to the components. */
export function operationOf(route: AnyRoute, security: readonly string[], components: Components): JsonObject {
  const { summary, description, operationId, tags } = route;
  const isOpen = route.permit === 'open';
  return {
    operationId,
    summary,
    ...(description !== undefined && { description }),
    ...(tags !== undefined && { tags: [...tags] }),
    security: isOpen ? [] : security.map(accessOf),
    ...(typeof route.charge === 'number' && { 'x-charge': route.charge }),
    parameters: [
      ...pathParameters(route, components),
      ...queryParameters(route, components),
      ...headerParameters(route, components),
    ],
    ...requestBodyOf(route, components),
    responses: responsesOf(route, components),
  };
}

const accessOf = (scheme: string): JsonObject => (scheme === 'nobody' ? {} : { [scheme]: [] });

const Text = Type.String();

const Fault = named(
  'Fault',
  Type.Object(
    {
      in: enumOf('FaultPlace', ['body', 'query', 'header', 'path']),
      pointer: Type.String({ description: 'RFC 6901; the empty string refers to the whole.' }),
      detail: Text,
    },
    { description: 'One invalid location in the request.' },
  ),
);

/** The base of every problem document; answers narrow its `code`. */
const Problem = named(
  'Problem',
  Type.Object(
    {
      type: Text,
      title: Text,
      status: Type.Integer(),
      detail: Text,
      instance: Text,
      code: Text,
      errors: Type.Optional(Type.Array(Fault)),
      traceId: Type.Optional(Type.String({ description: 'W3C trace id, if tracing is on.' })),
    },
    { description: 'RFC 9457. Programs should use `code`; `detail` is for people.' },
  ),
);

/** Converts camel, kebab or upper snake case to the name of a component. */
export function pascalCase(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const isUpper = text === text.toUpperCase();
  return words.map((word) => word[0]!.toUpperCase() + (isUpper ? word.slice(1).toLowerCase() : word.slice(1))).join('');
}

function pathParameters(route: AnyRoute, components: Components): JsonObject[] {
  const names = pathTemplate(route.path).matchAll(/\{([^}]+)\}/g);
  return [...names].map(([, name = '']) => {
    const schema = route.params?.properties[name];
    return { name, in: 'path', required: true, schema: schema ? components.schema(schema) : { type: 'string' } };
  });
}

function queryParameters({ query }: AnyRoute, components: Components): JsonObject[] {
  if (query === undefined || query === 'ignored') return [];
  const required = new Set(query.required ?? []);
  return Object.entries(query.properties).map(([name, schema]) => {
    const { description, ...rest } = decimalJson(components.schema(schema));
    return {
      name,
      in: 'query',
      required: required.has(name),
      ...(description !== undefined && { description }),
      schema: rest,
    };
  });
}

/** A decimal is a string to the validator, as query values are, and a number in the document. */
function decimalJson({ [DECIMAL_KEYWORD]: range, ...json }: JsonObject): JsonObject {
  if (range === undefined || range === null || typeof range !== 'object' || Array.isArray(range)) return json;
  return { ...json, type: 'integer', ...range };
}

function headerParameters(route: AnyRoute, components: Components): JsonObject[] {
  const header = (name: string, required: boolean, description: string): JsonObject =>
    components.add('parameters', `${required ? 'Required' : ''}${pascalCase(name)}`, {
      name,
      in: 'header',
      required,
      description,
      schema: { type: 'string' },
    });
  const keyNeeded = route.errors.includes('IDEMPOTENCY_KEY_REQUIRED');
  return [
    ...(readsIdempotencyKey(route.idempotency)
      ? [
          header(
            'Idempotency-Key',
            keyNeeded,
            'The same key and request return the same answer. 1-255 visible ASCII, bare or as one quoted string without parameters.',
          ),
        ]
      : []),
    ...(route.errors.includes('PRECONDITION_REQUIRED')
      ? [header('If-Match', true, 'The version that this request is based on, in quotes.')]
      : []),
    ...Object.entries(route.requestHeaders ?? {}).map(([name, description]) => header(name, false, description)),
  ];
}

function requestBodyOf(route: AnyRoute, components: Components): JsonObject {
  if (route.body === undefined) return {};
  const schema = components.body(
    typeof route.body === 'object' ? route.body : Type.Unknown(),
    `${pascalCase(route.operationId)}Request`,
  );
  const counted =
    route.body === 'bytes' ? 'as sent: Content-Encoding is not decoded' : 'counted after Content-Encoding is decoded';
  const size = `At most ${route.bodyMaxBytes} bytes, ${counted}.`;
  const { mediaTypes = ['application/json'] } = route;
  const types = mediaTypes.filter((type) => type !== JSON_SUFFIX);
  const isSuffixed = types.length < mediaTypes.length;
  return {
    requestBody: {
      description: isSuffixed ? `${size} Any media type that ends in \`+json\` is accepted too.` : size,
      required: route.bodyOptional !== true,
      content: Object.fromEntries(types.map((type) => [type, { schema }])),
    },
  };
}

function responsesOf(route: AnyRoute, components: Components): JsonObject {
  const responses: Record<string, JsonObject> = {};
  for (const [status, spec] of Object.entries(route.responses)) {
    responses[status] = successOf(route, { status, spec }, components);
  }
  const byStatus = Map.groupBy(errorCodesOf(route), (code) => String(CATALOGUE[code].status));
  for (const status of [...byStatus.keys()].sort()) {
    const codes = (byStatus.get(status) ?? []).sort();
    const declared = responses[status];
    const { name, response } = refusalOf(route, { status, codes }, components);
    responses[status] =
      declared === undefined ? components.add('responses', name, response) : merged(declared, response);
  }
  return responses;
}

function successOf(
  route: AnyRoute,
  { status, spec }: { readonly status: string; readonly spec: ResponseSpec },
  components: Components,
): JsonObject {
  const replayed: HeaderName[] = route.idempotency !== 'none' && status.startsWith('2') ? ['Idempotent-Replayed'] : [];
  const { contentType = 'application/json', otherTypes = [] } = spec;
  const isText = contentType.startsWith('text/');
  const described = spec.schema ?? (isText ? Text : undefined);
  const schema =
    described &&
    (contentType === 'application/json'
      ? components.body(described, `${pascalCase(route.operationId)}Result`)
      : components.schema(described));
  const own = Object.entries(spec.headers ?? {}).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ]);
  const hasContent = schema !== undefined || spec.contentType !== undefined;
  return {
    description: spec.description,
    headers: {
      ...headerRefs([...commonHeaders(route, status), ...replayed], components),
      ...Object.fromEntries(own),
    },
    ...(hasContent && {
      content: {
        [contentType]: schema === undefined ? {} : { schema },
        ...Object.fromEntries(otherTypes.map((type) => [type, { schema: { type: 'string' } }])),
      },
    }),
  };
}

/**
 * The problem of one status, named by its codes, by members that the route adds, and by whether it has limit headers.
 */
function refusalOf(
  route: AnyRoute,
  { status, codes }: { readonly status: string; readonly codes: readonly ErrorCode[] },
  components: Components,
): { readonly name: string; readonly response: JsonObject } {
  const further: HeaderName[] = [];
  if (status === '401') further.push('WWW-Authenticate');
  if (status === '429' || status === '503' || codes.includes('IDEMPOTENCY_IN_PROGRESS')) further.push('Retry-After');
  const headers = [...commonHeaders(route, status), ...further];
  const hasLimits = status !== '429' && headers.includes('RateLimit');
  const { name, schema } = problemOf(route, codes, components);
  return {
    name: hasLimits ? `${name}WithRateLimit` : name,
    response: {
      description: codes.map((code) => `\`${code}\`: ${CATALOGUE[code].title}.`).join('\n'),
      headers: headerRefs(headers, components),
      content: { [PROBLEM_MEDIA_TYPE]: { schema } },
    },
  };
}

function problemOf(
  { operationId, problem: decoration }: AnyRoute,
  codes: readonly ErrorCode[],
  components: Components,
): { readonly name: string; readonly schema: JsonObject } {
  const base = components.schema(Problem);
  const name = codesName(codes).map(pascalCase).join('Or');
  const narrowed = { type: 'object', properties: { code: { type: 'string', enum: [...codes] } } };
  const problem = components.add('schemas', `${name}Problem`, { allOf: [base, narrowed] });
  if (decoration?.members === undefined) return { name, schema: problem };
  const given = nameOf(decoration.members);
  assert(given !== undefined, `${operationId}: the members that problem adds have no name.`);
  const members = components.schema(decoration.members);
  const schema = components.add('schemas', `${name}${given.name}Problem`, { allOf: [problem, members] });
  return { name: `${name}${given.name}`, schema };
}

/** Merges a declared answer and a problem of the same status; both are listed, by media type. */
function merged(declared: JsonObject, refusal: JsonObject): JsonObject {
  const both = (member: string) => ({ ...asObject(declared[member]), ...asObject(refusal[member]) });
  return {
    description: `${String(declared['description'])}\n${String(refusal['description'])}`,
    headers: both('headers'),
    content: both('content'),
  };
}

function asObject(value: JsonValue | undefined): JsonObject {
  return value !== undefined && value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

/** Limit headers are absent for unknown callers and for callers that are not charged. */
function commonHeaders(route: AnyRoute, status: string): HeaderName[] {
  const isCharged = route.permit !== 'open' && route.charge !== 'none';
  const hasLimits = status === '429' || (isCharged && status !== '401');
  return hasLimits ? ['X-Request-Id', 'RateLimit-Policy', 'RateLimit'] : ['X-Request-Id'];
}

function headerRefs(names: readonly HeaderName[], components: Components): JsonObject {
  const refs = names.map((name) => {
    const header = { description: HEADERS[name], schema: { type: 'string' } };
    return [name, components.add('headers', name, header)];
  });
  return Object.fromEntries(refs);
}
