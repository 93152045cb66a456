import { readFileSync } from 'node:fs';

/** What a command needs to know of a parameter or a member of a body. */
export interface Field {
  /** `json`: an object, or a list of objects. */
  readonly type: 'string' | 'time' | 'integer' | 'boolean' | 'list' | 'json';
  readonly required?: true;
  readonly nullable?: true;
  readonly description?: string;
  /** Of a list: those of its items. */
  readonly choices?: readonly string[];
  /** Of an object. */
  readonly members?: Fields;
}

export type Fields = Readonly<Record<string, Field>>;

/** One operation of an admin API. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/admin/v1`, with parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly query: Fields;
  /** Undefined if it takes no body. */
  readonly body?: Fields;
  readonly answer: 'json' | 'text' | 'nothing';
}

/** By surface and operationId. */
type Operations = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

const SURFACES = ['case-gate', 'ingest-gateway', 'ledger-peer', 'risk-partner'];

// Set by tools/dev/bundle.ts; absent when running from sources, which have the documents.
declare const SEALGATE_ADMIN_OPERATIONS: Operations | undefined;

export const operations: Operations =
  typeof SEALGATE_ADMIN_OPERATIONS === 'object'
    ? SEALGATE_ADMIN_OPERATIONS
    : Object.fromEntries(SURFACES.map((surface) => [surface, operationsIn(readDocument(surface))]));

function readDocument(surface: string): Document {
  const file = new URL(`../../../apps/${surface}/admin-openapi.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as Document;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

/** An OpenAPI document, as our surfaces write them. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

function operationsIn(document: Document): Record<string, Operation> {
  const found = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const { summary, description } = described;
      const body = described.requestBody?.content?.['application/json']?.schema;
      const operation: Operation = {
        method: method.toUpperCase() as Operation['method'],
        path: path.replace(/^\/admin\/v1/, ''),
        summary,
        ...(description === undefined ? {} : { description }),
        query: queryOf(described, document),
        ...(body === undefined ? {} : { body: fieldOf(body, document).members ?? {} }),
        answer: answerOf(described),
      };
      return [described.operationId, operation];
    }),
  );
  return Object.fromEntries(found);
}

function queryOf({ parameters = [] }: Described, document: Document): Fields {
  const inQuery = parameters
    .map((parameter) => resolved(parameter, document))
    .filter((parameter) => parameter.in === 'query');
  return Object.fromEntries(
    inQuery.map(({ name, schema, required, description }) => {
      const field = fieldOf(schema, document, required);
      return [name, description === undefined ? field : { ...field, description }];
    }),
  );
}

function answerOf({ responses }: Described): Operation['answer'] {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const [type] = Object.keys(success?.content ?? {});
  if (type === undefined) return 'nothing';
  return type.startsWith('application/json') ? 'json' : 'text';
}

function fieldOf(given: Schema, document: Document, required = false): Field {
  const schema = resolved(given, document);
  // Nullable: what is not null decides.
  const variant = schema.anyOf?.map((one) => resolved(one, document)).find(({ type }) => type !== 'null') ?? schema;
  const description = given.description ?? schema.description ?? variant.description;
  const { items, properties } = variant;
  const choices = (items === undefined ? variant : resolved(items, document)).enum;
  return {
    type: typeOf(variant, document),
    ...(required ? { required } : {}),
    ...(variant === schema ? {} : { nullable: true }),
    ...(description === undefined ? {} : { description }),
    ...(choices === undefined ? {} : { choices }),
    ...(properties === undefined ? {} : { members: membersOf(properties, variant.required ?? [], document) }),
  };
}

function membersOf(properties: NonNullable<Schema['properties']>, required: readonly string[], document: Document) {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, fieldOf(schema, document, required.includes(name))]),
  );
}

function typeOf({ type, format, items }: Schema, document: Document): Field['type'] {
  if (type === 'array') return items !== undefined && resolved(items, document).type === 'object' ? 'json' : 'list';
  if (type === 'object') return 'json';
  if (type === 'integer' || type === 'boolean') return type;
  return format === 'date-time' ? 'time' : 'string';
}

function resolved<T extends { readonly $ref?: string }>(value: T, { components }: Document): T {
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec(value.$ref ?? '') ?? [];
  return (components[kind]?.[name] as T | undefined) ?? value;
}
