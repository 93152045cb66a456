type Json = Readonly<Record<string, unknown>>;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

interface Operation {
  /** `get /v1/things`, by which a fault names it. */
  readonly place: string;
  readonly path: string;
  readonly operation: Json;
}

/**
 * What makes an OpenAPI document fail in the hands of those who read it: code generators (openapi-typescript,
 * oapi-codegen), linters, and people who take its word for what a service sends. Empty for a sound document.
 */
export function openApiFaults(document: unknown): string[] {
  const root = objectOf(document);
  const operations = operationsOf(root);
  return [
    ...serverFaults(root),
    ...referenceFaults(root),
    ...repeated(operations.map(({ operation }) => String(operation['operationId']))).map(
      (id) => `operationId ${id} is there twice`,
    ),
    ...operations.flatMap((operation) => parameterFaults(operation, root)),
    ...operations.flatMap((operation) => responseFaults(operation, root)),
    ...operations.flatMap(bodyFaults),
    ...schemaFaults(root),
    ...nameFaults(root),
    ...inlineFaults(root),
  ];
}

/** A checked-in document is relative to whoever serves it: it cannot know where that is. */
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
    ...missing.map((path) => `${path} is referred to and not there`),
    ...made.filter((path) => !used.has(path)).map((path) => `${path} is there and not referred to`),
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
    ...inlineHeaders.map((name) => `${place}: the header ${name} is no component`),
    ...when(named.toSorted().join() !== inPath.toSorted().join(), `${place}: the parameters are not those of its path`),
    ...misnamed.map((name) => `${place}: {${name}} is no name of a parameter`),
    ...repeated(parameters.map((parameter) => `${String(parameter['in'])} ${String(parameter['name'])}`)).map(
      (name) => `${place}: the parameter ${name} is there twice`,
    ),
  ];
}

/** What every surface promises about the headers of refusals. */
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
    ...when(headersOf('401').includes('RateLimit'), `${place}: 401 names limits of a caller that nobody knows`),
    ...expected.filter((status) => !isListed(status)).map((status) => `${place}: ${status} is missing`),
  ];
}

/** Every body that is sent or answered has a name, as it is, as the items of a list, or as the forms of a union. */
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

/** Generators put the types of all kinds of component side by side; some compare their names without case. */
function nameFaults({ components }: Json): string[] {
  const names = ['schemas', 'responses', 'parameters'].flatMap((kind) =>
    Object.keys(objectOf(objectOf(components)[kind])),
  );
  const enums = Object.entries(objectOf(objectOf(components)['schemas']));
  // In Go, a constant that has no other of its name among the enums has no prefix.
  const constants = enums.flatMap(([name, schema]) =>
    listOf(objectOf(schema)['enum']).map((word) => ({ name, constant: String(word).replace(/[^A-Za-z0-9]/g, '') })),
  );
  const lowerCase = new Set(names.map((name) => name.toLowerCase()));
  return [
    ...constants
      .filter(({ constant }) => lowerCase.has(constant.toLowerCase()))
      .map(({ name, constant }) => `${constant} of ${name} is the name of a component too`),
    ...repeated(names.map((name) => name.toLowerCase())).map((name) => `${name} names two components`),
    ...names.filter((name) => !/^[A-Z][A-Za-z0-9]*$/.test(name)).map((name) => `${name} is no name of a type`),
  ];
}

/** The one place of an enum that is no component: what a problem narrows its code to. */
const OF_PROBLEM = /^components\/schemas\/\w+Problem\/allOf\/1\/properties\/code$/;

/** What stands in two places is a component: a generator makes a type of each place. */
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
  return [...faults, ...twice.map((at) => `${at.join(' and ')} are one object and no component`)];
}

/** A generator makes one type of each branch of a union, named after the place: two lists there become one type twice. */
function schemaFaults(value: unknown, place = '#'): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => schemaFaults(item, `${place}/${index}`));
  if (value === null || typeof value !== 'object') return [];
  const branches = listOf(objectOf(value)['anyOf']).map(objectOf);
  const types = listOf(objectOf(value)['type']).filter((type) => type !== 'null');
  return [
    ...when(branches.filter(({ type }) => type === 'array').length > 1, `${place}: two lists are forms of one value`),
    ...when(types.length > 1, `${place}: several types at once are no type of Go`),
    ...when(
      branches.some((branch) => Object.keys(branch).length === 0),
      `${place}: one form takes everything, so the others say nothing`,
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

/** What a reference within the document stands for; anything else is itself. */
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
