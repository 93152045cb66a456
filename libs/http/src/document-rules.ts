import type { JsonValue } from '@sealgate/json';
import type { JsonObject } from './schemas.ts';

/** Members of a schema that hold values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);

/**
 * Faults of an OpenAPI document that break the clients which other people generate from it: each as one sentence.
 * Every JSON body is a component, because generators drop the methods of an inline union or object.
 */
export function documentFaults(document: JsonObject): string[] {
  const operations = Object.values(asObject(document['paths'])).flatMap((item) => Object.values(asObject(item)));
  const bodies = operations.flatMap((operation) => bodyFaults(asObject(operation)));
  const { schemas, ...others } = asObject(document['components']);
  const components = Object.entries(asObject(schemas)).flatMap(([name, schema]) =>
    schemaFaults(asObject(schema), { at: `components/schemas/${name}`, isComponent: true }),
  );
  const inline = nestedFaults({ paths: document['paths'] ?? {}, ...others }, { at: '' });
  return [...bodies, ...components, ...inline];
}

function bodyFaults(operation: JsonObject): string[] {
  const id = String(operation['operationId']);
  const request = asObject(asObject(operation['requestBody'])['content']);
  const requests = Object.entries(request).filter(([, media]) => !isReference(media));
  const responses = Object.entries(asObject(operation['responses'])).flatMap(([status, response]) =>
    Object.entries(asObject(asObject(response)['content']))
      .filter(([type, media]) => type === 'application/json' && !isReference(media))
      .map(([type]) => `${id}: the ${type} answer ${status} is not a named component`),
  );
  return [...requests.map(([type]) => `${id}: the ${type} request body is not a named component`), ...responses];
}

const isReference = (media: JsonValue): boolean => '$ref' in asObject(asObject(media)['schema']);

interface Place {
  readonly at: string;
  /** A union may have several forms only where generators name it. */
  readonly isComponent?: boolean;
  /** No generator reads this schema, so its unions need no names: a schema of an MCP tool. */
  readonly isOfTool?: boolean;
}

/** Faults of a JSON schema and of those nested in it, as `documentFaults`; also for the schemas of MCP tools. */
export function schemaFaults(schema: JsonObject, place: Place): string[] {
  const { at, isOfTool = false } = place;
  const { pattern, type, properties, additionalProperties, patternProperties } = schema;
  const patternFault = typeof pattern === 'string' ? regexFault(pattern) : undefined;
  const isNarrowed = ['anyOf', 'oneOf', 'allOf'].some((keyword) => schema[keyword] !== undefined);
  const hasMembers = Object.keys(asObject(properties)).length > 0;
  const isOpen = !hasMembers && !isNarrowed && additionalProperties === undefined;
  const own = [
    patternFault && `the pattern ${String(pattern)} ${patternFault}`,
    type === 'object' && isOpen && 'an open object must say additionalProperties: true',
    typeof patternProperties === 'object' && 'generators ignore patternProperties',
    ...(isOfTool ? [] : generatorFaults(schema, place)),
  ];
  const said = own.filter((fault) => typeof fault === 'string').map((fault) => `${at}: ${fault}`);
  return [...said, ...nestedFaults(schema, { at, isOfTool })];
}

function generatorFaults(schema: JsonObject, { isComponent = false }: Place): (string | false)[] {
  const forms = [schema['anyOf'], schema['oneOf']].flatMap((branches) => (Array.isArray(branches) ? branches : []));
  const isUnion = forms.filter((form) => asObject(form)['type'] !== 'null').length > 1;
  const isSingle = schema['type'] === 'number' && schema['format'] === undefined && schema['const'] === undefined;
  return [
    isUnion && !isComponent && 'a union of several forms must be a named component',
    isSingle && 'a number must say format: double, or Go clients round it to 32 bits',
  ];
}

function nestedFaults(parent: JsonObject, { at, isOfTool = false }: Place): string[] {
  return Object.entries(parent)
    .filter(([name]) => !VALUES.has(name))
    .flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((inner) => [name, inner] as const))
    .filter(([, inner]) => typeof inner === 'object' && inner !== null)
    .flatMap(([name, inner]) => schemaFaults(asObject(inner), { at: at === '' ? name : `${at}/${name}`, isOfTool }));
}

/** The largest count of a repetition in RE2. */
const MOST_REPEATED = 1000;

/**
 * Why a pattern does not compile in RE2 (Go, Rust, C++), or means something else there than in ECMAScript; undefined
 * if it is portable.
 */
function regexFault(pattern: string): string | undefined {
  if (/\\u/.test(pattern)) return 'contains \\u; write \\x and two digits';
  if (/\(\?(?!:)/.test(pattern)) return 'contains a lookaround or a named group';
  if (/\\(?:[1-9]|k)/.test(pattern)) return 'contains a backreference';
  if (/\\[scbB]/.test(pattern)) return 'contains \\s, \\b or \\c, which differ between engines';
  const counts = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].flatMap(([, least, most]) => [least, most]);
  const isLong = counts.some((count) => Number(count ?? 0) > MOST_REPEATED);
  return isLong ? `repeats more than ${MOST_REPEATED} times; use minLength and maxLength` : undefined;
}

function asObject(value: JsonValue | undefined): JsonObject {
  return value !== undefined && value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}
