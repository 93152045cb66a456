import { CATALOGUE, PROBLEM_MEDIA_TYPE, type ErrorCode } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import type { TSchema } from '@sinclair/typebox';
import { errorCodesOf } from './error-codes.ts';
import { DECIMAL_KEYWORD } from './parameters.ts';
import { pathTemplate } from './path-pattern.ts';
import type { AnyRoute, ResponseSpec } from './route.ts';

export type JsonObject = { [member: string]: JsonValue };

const HEADERS = {
  'X-Request-Id': 'The id of this request: the one that was sent, or one made here.',
  'RateLimit-Policy': 'The limits that hold for this key (draft-ietf-httpapi-ratelimit-headers).',
  RateLimit: 'What remains of the limit with least remaining.',
  'Retry-After': 'Whole seconds to wait before trying again.',
  'Idempotent-Replayed': '`true` when a kept answer was sent again; absent otherwise.',
  'WWW-Authenticate': 'The scheme by which callers show who they are.',
} as const;

type HeaderName = keyof typeof HEADERS;

/** The operation object of one route. */
export function operationOf(route: AnyRoute, securityScheme: string): JsonObject {
  const { summary, description, operationId, tags } = route;
  const isOpen = route.permit === 'open';
  return {
    operationId,
    summary,
    ...(description !== undefined && { description }),
    ...(tags !== undefined && { tags: [...tags] }),
    security: isOpen ? [] : [{ [securityScheme]: [] }],
    ...(typeof route.charge === 'number' && { 'x-charge': route.charge }),
    parameters: [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)],
    ...requestBodyOf(route),
    responses: responsesOf(route),
  };
}

/** The headers that the operations of these paths refer to. */
export function headerComponents(paths: JsonObject): JsonObject {
  const text = JSON.stringify(paths);
  const used = Object.entries(HEADERS).filter(([name]) => text.includes(`"${headerRef(name)}"`));
  return Object.fromEntries(used.map(([name, description]) => [name, { description, schema: { type: 'string' } }]));
}

const headerRef = (name: string): string => `#/components/headers/${name}`;

/** The schema of a problem document; each error response narrows its `code`. */
export function problemComponent(): JsonObject {
  const text = { type: 'string' };
  const fault = {
    type: 'object',
    required: ['in', 'pointer', 'detail'],
    properties: { in: { enum: ['body', 'query', 'header', 'path'] }, pointer: text, detail: text },
  };
  return {
    type: 'object',
    description: 'RFC 9457. `code` is what programs go by; `detail` is for people.',
    required: ['type', 'title', 'status', 'detail', 'instance', 'code'],
    properties: {
      type: text,
      title: text,
      status: { type: 'integer' },
      detail: text,
      instance: text,
      code: text,
      errors: { type: 'array', items: fault },
    },
  };
}

function pathParameters(route: AnyRoute): JsonObject[] {
  const names = pathTemplate(route.path).matchAll(/\{([^}]+)\}/g);
  return [...names].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: schemaJson(route.params?.properties[name]) ?? { type: 'string' },
  }));
}

function queryParameters({ query }: AnyRoute): JsonObject[] {
  if (query === undefined || query === 'ignored') return [];
  const required = new Set(query.required ?? []);
  return Object.entries(query.properties).map(([name, schema]) => {
    const { description, ...rest } = parameterSchema(schema);
    return {
      name,
      in: 'query',
      required: required.has(name),
      ...(description !== undefined && { description }),
      schema: rest,
    };
  });
}

/** A decimal is a string to the validator, since query values are, and a number to whoever reads the document. */
function parameterSchema(schema: TSchema): JsonObject {
  const { [DECIMAL_KEYWORD]: range, ...json } = schemaJson(schema) ?? {};
  if (range === undefined || range === null || typeof range !== 'object' || Array.isArray(range)) return json;
  return { ...json, type: 'integer', ...range };
}

function headerParameters(route: AnyRoute): JsonObject[] {
  const header = (name: string, required: boolean, description: string): JsonObject => ({
    name,
    in: 'header',
    required,
    description,
    schema: { type: 'string' },
  });
  const keyNeeded = route.errors.includes('IDEMPOTENCY_KEY_REQUIRED');
  return [
    ...(route.idempotency === 'none'
      ? []
      : [
          header(
            'Idempotency-Key',
            keyNeeded,
            'The same key and request get the same answer. 1-255 visible ASCII, bare or as one quoted string without parameters.',
          ),
        ]),
    ...(route.errors.includes('PRECONDITION_REQUIRED')
      ? [header('If-Match', true, 'The version this request was made from, in quotes.')]
      : []),
    ...Object.entries(route.requestHeaders ?? {}).map(([name, description]) => header(name, false, description)),
  ];
}

function requestBodyOf(route: AnyRoute): JsonObject {
  if (route.body === undefined) return {};
  const forms = Object.keys(route.bodyForms ?? {}).map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const described = forms.length === 1 ? forms[0] : forms.length > 0 ? { anyOf: forms } : undefined;
  const schema = described ?? (typeof route.body === 'object' ? schemaJson(route.body) : undefined) ?? {};
  const size = `At most ${route.bodyMaxBytes} bytes, counted after Content-Encoding was undone.`;
  return {
    requestBody: {
      description: route.jsonSuffix === true ? `${size} Any media type that ends in \`+json\` is taken as well.` : size,
      required: route.bodyOptional !== true,
      content: { 'application/json': { schema } },
    },
  };
}

/** The forms of bodies that routes name, as components. @throws Error where two routes give one name to two forms. */
export function formComponents(routes: readonly AnyRoute[]): JsonObject {
  const components: JsonObject = {};
  for (const [name, schema] of routes.flatMap((route) => Object.entries(route.bodyForms ?? {}))) {
    const json = schemaJson(schema) ?? {};
    if (name in components && JSON.stringify(components[name]) !== JSON.stringify(json)) {
      throw new Error(`Two routes describe different bodies as ${name}.`);
    }
    components[name] = json;
  }
  return components;
}

function responsesOf(route: AnyRoute): JsonObject {
  const responses: Record<string, JsonObject> = {};
  for (const [status, spec] of Object.entries(route.responses)) responses[status] = successOf(route, status, spec);
  const byStatus = Map.groupBy(errorCodesOf(route), (code) => String(CATALOGUE[code].status));
  for (const status of [...byStatus.keys()].sort()) {
    const refusal = refusalOf(route, byStatus.get(status) ?? [], status);
    const declared = responses[status];
    responses[status] = declared === undefined ? refusal : merged(declared, refusal);
  }
  return responses;
}

function successOf(route: AnyRoute, status: string, spec: ResponseSpec): JsonObject {
  const replayed: HeaderName[] = route.idempotency !== 'none' && status.startsWith('2') ? ['Idempotent-Replayed'] : [];
  const schema = schemaJson(spec.schema);
  const own = Object.entries(spec.headers ?? {}).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ]);
  const hasContent = schema !== undefined || spec.contentType !== undefined;
  return {
    description: spec.description,
    headers: { ...headerRefs(route, status, replayed), ...Object.fromEntries(own) },
    ...(hasContent && {
      content: {
        [spec.contentType ?? 'application/json']: schema === undefined ? {} : { schema },
        ...Object.fromEntries((spec.otherTypes ?? []).map((type) => [type, { schema: { type: 'string' } }])),
      },
    }),
  };
}

function refusalOf(route: AnyRoute, codes: readonly ErrorCode[], status: string): JsonObject {
  const further: HeaderName[] = [];
  if (status === '401') further.push('WWW-Authenticate');
  if (status === '429' || status === '503' || codes.includes('IDEMPOTENCY_IN_PROGRESS')) further.push('Retry-After');
  const sorted = [...codes].sort();
  const added = schemaJson(route.problemMembers);
  const schema = {
    allOf: [
      { $ref: '#/components/schemas/Problem' },
      { properties: { code: { enum: sorted } } },
      ...(added === undefined ? [] : [added]),
    ],
  };
  return {
    description: sorted.map((code) => `\`${code}\`: ${CATALOGUE[code].title}.`).join('\n'),
    headers: headerRefs(route, status, further),
    content: { [PROBLEM_MEDIA_TYPE]: { schema } },
  };
}

/** One status with an answer of its own and a problem: both are listed, by media type. */
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

/** Whoever was not known has no limits to be told of, and neither has a caller whose requests are not charged. */
function headerRefs(route: AnyRoute, status: string, further: readonly HeaderName[]): JsonObject {
  const isCharged = route.permit !== 'open' && route.charge !== 'none';
  const limits: HeaderName[] =
    status === '429' || (isCharged && status !== '401') ? ['RateLimit-Policy', 'RateLimit'] : [];
  const names: HeaderName[] = ['X-Request-Id', ...limits, ...further];
  return Object.fromEntries(names.map((name) => [name, { $ref: headerRef(name) }]));
}

/** A TypeBox schema without the symbols by which TypeBox knows it. */
export function schemaJson(schema: TSchema | undefined): JsonObject | undefined {
  if (schema === undefined) return undefined;
  const json: JsonObject = JSON.parse(JSON.stringify(schema));
  return json;
}
