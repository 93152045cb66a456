import type { TSchema } from '@sinclair/typebox';
import { type JsonObject, membersJson, named, type NamedSchema, nameOf } from './schemas.ts';

type Kind = 'schemas' | 'responses' | 'parameters' | 'headers';

const ANNOTATIONS: ReadonlySet<string> = new Set(['title', 'description', 'default', 'examples', 'deprecated']);

/** Shared components of a document, referenced by `$ref`. */
export class Components {
  readonly #kinds: Record<Kind, Map<string, JsonObject>> = {
    schemas: new Map(),
    responses: new Map(),
    parameters: new Map(),
    headers: new Map(),
  };

  /** Adds a component and returns a reference to it. @throws Error if a different component has the name. */
  add(kind: Kind, name: string, component: JsonObject): JsonObject {
    const known = this.#kinds[kind].get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(component)) {
      throw new Error(`There are two different components/${kind}/${name}.`);
    }
    this.#kinds[kind].set(name, component);
    return { $ref: `#/components/${kind}/${name}` };
  }

  /**
   * A schema as JSON: a reference if it is named, else inlined; nested schemas likewise.
   * @throws Error if two schemas have one name, or one derived from a named schema has no name of its own.
   */
  schema(schema: TSchema): JsonObject {
    return this.#reference(schema) ?? membersJson(schema, (inner) => this.#reference(inner));
  }

  /** Like `schema`, for a whole body: if it is unnamed, it gets this name. */
  body(schema: TSchema, name: string): JsonObject {
    return this.schema(nameOf(schema) === undefined ? named(name, schema) : schema);
  }

  #reference(schema: TSchema): JsonObject | undefined {
    const given = nameOf(schema);
    if (given === undefined) return undefined;
    const json = membersJson(given.schema, (inner) => this.#reference(inner));
    return { ...this.add('schemas', given.name, json), ...annotationsOf(schema, given) };
  }

  /** All components by kind, sorted by name. */
  json(): JsonObject {
    const kinds = Object.entries(this.#kinds).filter(([, components]) => components.size > 0);
    return Object.fromEntries(
      kinds.map(([kind, components]) => {
        const sorted = [...components].sort(([a], [b]) => (a < b ? -1 : 1));
        return [kind, Object.fromEntries(sorted)];
      }),
    );
  }
}

/** Annotations added to a schema after it was named, at one of its uses. */
function annotationsOf(schema: TSchema, { name, schema: original }: NamedSchema): JsonObject {
  const said = Object.entries(schema).filter(([member, value]) => original[member] !== value);
  const changed = said.find(([member]) => !ANNOTATIONS.has(member));
  if (changed !== undefined) throw new Error(`A schema made from ${name} has a different ${changed[0]} and no name.`);
  const annotations: JsonObject = Object.fromEntries(said);
  return annotations;
}
