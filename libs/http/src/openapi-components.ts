import type { TSchema } from '@sinclair/typebox';
import { membersJson, named, nameOf, type JsonObject, type NamedSchema } from './named-schema.ts';

type Kind = 'schemas' | 'responses' | 'parameters' | 'headers';

const ANNOTATIONS: ReadonlySet<string> = new Set(['description', 'default', 'examples', 'deprecated']);

/** What the operations of one document share, each under a name, referred to by `$ref`. */
export class Components {
  readonly #kinds: Record<Kind, Map<string, JsonObject>> = {
    schemas: new Map(),
    responses: new Map(),
    parameters: new Map(),
    headers: new Map(),
  };

  /** A reference to this component. @throws Error where another one has the name. */
  add(kind: Kind, name: string, component: JsonObject): JsonObject {
    const known = this.#kinds[kind].get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(component)) {
      throw new Error(`There are two different components/${kind}/${name}.`);
    }
    this.#kinds[kind].set(name, component);
    return { $ref: `#/components/${kind}/${name}` };
  }

  /**
   * A schema as JSON: a reference where it has a name, else itself; what it is made of likewise.
   * @throws Error where two schemas have one name, or one that was made from a named one has none of its own.
   */
  schema(schema: TSchema): JsonObject {
    return this.#reference(schema) ?? membersJson(schema, (inner) => this.#reference(inner));
  }

  /** The same of a whole body: an object without a name is given this one. */
  body(schema: TSchema, name: string): JsonObject {
    const isUnnamed = nameOf(schema) === undefined && schema['properties'] !== undefined;
    return this.schema(isUnnamed ? named(name, schema) : schema);
  }

  #reference(schema: TSchema): JsonObject | undefined {
    const given = nameOf(schema);
    if (given === undefined) return undefined;
    const json = membersJson(given.schema, (inner) => this.#reference(inner));
    return { ...this.add('schemas', given.name, json), ...annotationsOf(schema, given) };
  }

  /** All of them by kind and name, in the order of their names. */
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

/** What was said of a schema after it was given its name, in one of the places where it is used. */
function annotationsOf(schema: TSchema, { name, schema: original }: NamedSchema): JsonObject {
  const said = Object.entries(schema).filter(([member, value]) => original[member] !== value);
  const changed = said.find(([member]) => !ANNOTATIONS.has(member));
  if (changed !== undefined) throw new Error(`A schema made from ${name} has another ${changed[0]} and no name.`);
  const annotations: JsonObject = Object.fromEntries(said);
  return annotations;
}
