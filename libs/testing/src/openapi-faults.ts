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
    ...operations.flatMap(parameterFaults),
    ...operations.flatMap(responseFaults),
    ...schemaFaults(root),
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

function parameterFaults({ place, path, operation }: Operation): string[] {
  const parameters = listOf(operation['parameters']).map(objectOf);
  const named = parameters.filter((parameter) => parameter['in'] === 'path').map(({ name }) => String(name));
  const inPath = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name);
  const misnamed = inPath.filter((name) => !/^[A-Za-z][A-Za-z0-9_]*$/.test(name));
  return [
    ...when(named.toSorted().join() !== inPath.toSorted().join(), `${place}: the parameters are not those of its path`),
    ...misnamed.map((name) => `${place}: {${name}} is no name of a parameter`),
    ...repeated(parameters.map((parameter) => `${String(parameter['in'])} ${String(parameter['name'])}`)).map(
      (name) => `${place}: the parameter ${name} is there twice`,
    ),
  ];
}

/** What every surface promises about the headers of refusals. */
function responseFaults({ place, operation }: Operation): string[] {
  const needed: readonly (readonly [status: string, header: string])[] = [
    ['401', 'WWW-Authenticate'],
    ['429', 'Retry-After'],
    ['503', 'Retry-After'],
  ];
  const headersOf = (status: string) =>
    Object.keys(objectOf(objectOf(objectOf(operation['responses'])[status])['headers']));
  const isListed = (status: string) => objectOf(operation['responses'])[status] !== undefined;
  const isRefusal = (status: string) =>
    'application/problem+json' in objectOf(objectOf(objectOf(operation['responses'])[status])['content']);
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

const repeated = (names: readonly string[]): string[] => names.filter((name, index) => names.indexOf(name) < index);
const when = (isFault: boolean, text: string): string[] => (isFault ? [text] : []);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const objectOf = (value: unknown): Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Json) : {};
