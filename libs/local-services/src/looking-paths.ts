import { readFileSync } from 'node:fs';

interface Operation {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
}

interface Schema {
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly $ref?: string;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/**
 * Every path that an OpenAPI document has for GET, with each filter alone: what a hostile reader asks for, found by the
 * list and not by us. `known` has the parameters of paths that name what exists, and of filters that match something.
 */
export function lookingPaths(documentFile: string, known: Readonly<Record<string, string>>): string[] {
  const document = JSON.parse(readFileSync(documentFile, 'utf8')) as Document;
  const resolved = <Value>(value: Value | { readonly $ref: string }): Value => {
    const reference = (value as { readonly $ref?: string }).$ref;
    if (reference === undefined) return value as Value;
    const [, , kind = '', name = ''] = reference.split('/');
    return document.components[kind]?.[name] as Value;
  };
  return Object.entries(document.paths).flatMap(([template, { get }]) => {
    // A live tail never ends.
    if (get === undefined || template.endsWith('/tail')) return [];
    const path = template.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(known[name] ?? 'nosuch'));
    const parameters = (get.parameters ?? []).map(resolved<Parameter>);
    const filters = parameters.filter((one) => one.in === 'query' && one.name !== 'limit' && one.name !== 'cursor');
    const values = ({ name, schema }: Parameter): readonly unknown[] => {
      const { enum: choices, format } = resolved<Schema>(schema);
      if (choices !== undefined) return choices;
      if (format === 'date-time') return ['2026-01-01T00:00:00Z'];
      return name in known ? [known[name], 'nosuch'] : ['nosuch'];
    };
    const queries = filters.flatMap((filter) =>
      values(filter).map((value) => `${filter.name}=${encodeURIComponent(String(value))}`),
    );
    const paged = parameters.some(({ name }) => name === 'limit') ? 'limit=200' : '';
    return ['', ...queries].map((query) => {
      const all = [paged, query].filter((part) => part !== '').join('&');
      return all === '' ? path : `${path}?${all}`;
    });
  });
}
