import { RE2JS } from 're2js';

type Json = Readonly<Record<string, unknown>>;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

interface Operation {
  /** `get /v1/things`, used in fault messages. */
  readonly place: string;
  readonly path: string;
  readonly operation: Json;
}

/**
 * Faults of an OpenAPI document that break code generators (openapi-typescript, oapi-codegen) or linters, or contradict
 * what a service sends. Empty for a valid document.
 */
export function openApiFaults(document: unknown): string[] {
  const root = objectOf(document);
  const operations = operationsOf(root);
  return [
    ...serverFaults(root),
    ...referenceFaults(root),
    ...repeated(operations.map(({ operation }) => String(operation['operationId']))).map(
      (id) => `operationId ${id} is not unique`,
    ),
    ...operations.flatMap((operation) => parameterFaults(operation, root)),
    ...operations.flatMap((operation) => responseFaults(operation, root)),
    ...operations.flatMap(bodyFaults),
    ...schemaFaults(root),
    ...nameFaults(root),
    ...inlineFaults(root),
  ];
}

/** A checked-in document cannot know its server's address, so the URL is relative. */
function serverFaults({ servers, info }: Json): string[] {
  const urls = listOf(servers).map((server) => String(objectOf(server)['url']));
  return [
    ...when(urls.join() !== '/', `the servers are ${urls.join() || 'none'} and not /`),
    ...when(objectOf(info)['license'] === undefined, 'info has no license'),
  ];
}

function referenceFaults(root: Json): string[] {
  const used = new Set([...JSON.stringify(root).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path));
  const missing = [...used].filter(
    (path) => path.split('/').reduce<unknown>((value, name) => objectOf(value)[name], root) === undefined,
  );
  const components = Object.entries(objectOf(root['components'])).filter(([kind]) => kind !== 'securitySchemes');
  const made = components.flatMap(([kind, of]) =>
    Object.keys(objectOf(of)).map((name) => `components/${kind}/${name}`),
  );
  return [
    ...missing.map((path) => `${path} is referenced but missing`),
    ...made.filter((path) => !used.has(path)).map((path) => `${path} is never referenced`),
  ];
}

function parameterFaults({ place, path, operation }: Operation, root: Json): string[] {
  const listed = listOf(operation['parameters']).map(objectOf);
  const parameters = listed.map((parameter) => resolved(parameter, root));
  const named = parameters.filter((parameter) => parameter['in'] === 'path').map(({ name }) => String(name));
  const inPath = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name);
  const misnamed = inPath.filter((name) => !/^[A-Za-z][A-Za-z0-9_]*$/.test(name));
  const inlineHeaders = listed.filter((parameter) => parameter['in'] === 'header').map(({ name }) => String(name));
  return [
    ...inlineHeaders.map((name) => `${place}: the header ${name} is not a component`),
    ...when(
      named.toSorted().join() !== inPath.toSorted().join(),
      `${place}: the path parameters do not match the path`,
    ),
    ...misnamed.map((name) => `${place}: {${name}} is not a valid parameter name`),
    ...repeated(parameters.map((parameter) => `${String(parameter['in'])} ${String(parameter['name'])}`)).map(
      (name) => `${place}: the parameter ${name} is not unique`,
    ),
  ];
}

/** Every surface promises these headers of error responses. */
function responseFaults({ place, operation }: Operation, root: Json): string[] {
  const needed: readonly (readonly [status: string, header: string])[] = [
    ['401', 'WWW-Authenticate'],
    ['429', 'Retry-After'],
    ['503', 'Retry-After'],
  ];
  const responses = objectOf(operation['responses']);
  const response = (status: string) => resolved(objectOf(responses[status]), root);
  const headersOf = (status: string) => Object.keys(objectOf(response(status)['headers']));
  const isListed = (status: string) => responses[status] !== undefined;
  const isRefusal = (status: string) => 'application/problem+json' in objectOf(response(status)['content']);
  const isOpen = listOf(operation['security']).length === 0;
  const expected = ['500', ...(isOpen ? [] : ['401', '403', '429', '503'])];
  return [
    ...needed
      .filter(([status, header]) => isRefusal(status) && !headersOf(status).includes(header))
      .map(([status, header]) => `${place}: ${status} without ${header}`),
    ...when(headersOf('401').includes('RateLimit'), `${place}: 401 declares rate-limit headers of an unknown caller`),
    ...expected.filter((status) => !isListed(status)).map((status) => `${place}: ${status} is missing`),
  ];
}

/** Every request or response body is a named schema: directly, as list items, or as union members. */
function bodyFaults({ place, operation }: Operation): string[] {
  const answers = Object.entries(objectOf(operation['responses'])).map(([status, answer]) => [status, answer] as const);
  const bodies = [['request', operation['requestBody']] as const, ...answers];
  return bodies.flatMap(([what, body]) =>
    Object.entries(objectOf(objectOf(body)['content'])).flatMap(([type, content]) => {
      const { schema } = objectOf(content);
      const { items, anyOf } = objectOf(schema);
      const parts = [schema, items, ...listOf(anyOf)].map(objectOf);
      return when(
        parts.some(({ properties, enum: words }) => properties !== undefined || words !== undefined),
        `${place}: the ${type} of ${what} has no name`,
      );
    }),
  );
}

/** Generators put the types of all component kinds into one namespace; some ignore case. */
function nameFaults({ components }: Json): string[] {
  const names = ['schemas', 'responses', 'parameters'].flatMap((kind) =>
    Object.keys(objectOf(objectOf(components)[kind])),
  );
  const enums = Object.entries(objectOf(objectOf(components)['schemas']));
  // In Go, an enum constant with a unique name gets no prefix.
  const constants = enums.flatMap(([name, schema]) =>
    listOf(objectOf(schema)['enum']).map((word) => ({ name, constant: String(word).replace(/[^A-Za-z0-9]/g, '') })),
  );
  const lowerCase = new Set(names.map((name) => name.toLowerCase()));
  return [
    ...constants
      .filter(({ constant }) => lowerCase.has(constant.toLowerCase()))
      .map(({ name, constant }) => `${constant} of ${name} is also the name of a component`),
    ...repeated(names.map((name) => name.toLowerCase())).map((name) => `${name} names two components`),
    ...names.filter((name) => !/^[A-Z][A-Za-z0-9]*$/.test(name)).map((name) => `${name} is not a valid type name`),
  ];
}

/** The only allowed inline enum: the narrowed code of a problem. */
const OF_PROBLEM = /^components\/schemas\/\w+Problem\/allOf\/1\/properties\/code$/;

/** A schema used in two places must be a component: generators make a type per place. */
function inlineFaults(root: Json): string[] {
  const places = new Map<string, string[]>();
  const faults: string[] = [];
  const visit = (value: unknown, path: readonly string[]): void => {
    if (Array.isArray(value)) return value.forEach((item, index) => visit(item, [...path, String(index)]));
    if (value === null || typeof value !== 'object') return undefined;
    const place = path.join('/');
    const schema = objectOf(value);
    const isComponent = path.length === 3 && path[1] === 'schemas';
    const branches = listOf(schema['anyOf']).map(objectOf);
    if (branches.filter((branch) => 'const' in branch).length > 1)
      faults.push(`${place}: constants instead of an enum`);
    if (Array.isArray(schema['enum']) && !isComponent && !OF_PROBLEM.test(place)) {
      faults.push(`${place}: an enum without a name`);
    }
    const isObject = schema['type'] === 'object' && Object.keys(objectOf(schema['properties'])).length > 0;
    if (isObject) places.set(JSON.stringify(value), [...(places.get(JSON.stringify(value)) ?? []), place]);
    return Object.entries(schema).forEach(([name, member]) => visit(member, [...path, name]));
  };
  visit(root, []);
  const twice = [...places.values()].filter((at) => at.length > 1);
  return [...faults, ...twice.map((at) => `${at.join(' and ')} are the same object but not a component`)];
}

/** Generators make one type per union branch, named after the place: two lists would become the same type twice. */
function schemaFaults(value: unknown, place = '#'): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => schemaFaults(item, `${place}/${index}`));
  if (value === null || typeof value !== 'object') return [];
  const branches = listOf(objectOf(value)['anyOf']).map(objectOf);
  const types = listOf(objectOf(value)['type']).filter((type) => type !== 'null');
  return [
    ...when(branches.filter(({ type }) => type === 'array').length > 1, `${place}: two branches of a union are lists`),
    ...when(types.length > 1, `${place}: several types at once cannot be expressed in Go`),
    ...when(
      branches.some((branch) => Object.keys(branch).length === 0),
      `${place}: one branch matches everything, so the others are redundant`,
    ),
    ...Object.entries(value).flatMap(([name, member]) => schemaFaults(member, `${place}/${name}`)),
  ];
}

function operationsOf(root: Json): Operation[] {
  return Object.entries(objectOf(root['paths'])).flatMap(([path, item]) =>
    Object.entries(objectOf(item))
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => ({ place: `${method} ${path}`, path, operation: objectOf(operation) })),
  );
}

/** Resolves a local reference; returns anything else unchanged. */
function resolved(value: Json, root: Json): Json {
  const { $ref } = value;
  if (typeof $ref !== 'string') return value;
  const path = $ref.replace('#/', '').split('/');
  return objectOf(path.reduce<unknown>((within, name) => objectOf(within)[name], root));
}

const repeated = (names: readonly string[]): string[] => names.filter((name, index) => names.indexOf(name) < index);
const when = (isFault: boolean, text: string): string[] => (isFault ? [text] : []);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const objectOf = (value: unknown): Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Json) : {};

/** The patterns of JSON schemas, at any depth, that RE2 (Go, Rust, C++) does not compile, with the reason. */
export function unreadablePatterns(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { pattern } = value as { readonly pattern?: unknown };
  const own = typeof pattern === 'string' ? reasonsOf(pattern) : [];
  return [...own, ...Object.values(value).flatMap(unreadablePatterns)];
}

function reasonsOf(pattern: string): string[] {
  try {
    RE2JS.compile(pattern);
    return [];
  } catch (error) {
    return [`${pattern}: ${String(error)}`];
  }
}
