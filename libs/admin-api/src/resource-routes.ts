import type { Reply } from '@sealgate/http';
import { Type, type TProperties, type TSchema } from '@sinclair/typebox';
import { ADMIN_BODY_MAX_BYTES, adminBase } from './admin-app.ts';

interface Resource<Path extends string, Id extends string> {
  /** Singular, and plural unless an `s` makes it: they name the operations, and the list in its cursors. */
  readonly name: string;
  readonly plural?: string;
  /** Describes an answer with one row. */
  readonly said: string;
  readonly row: TSchema;
  /** The path of the list, and its parameters. */
  readonly path: Path;
  readonly params?: TProperties | undefined;
  /** The further parameter in the path of one row, and its schema. */
  readonly id: Id;
  readonly idSchema: TSchema;
}

/**
 * The fields that create, list, get, change and delete have in common whatever they are about. A route adds its summary,
 * body and handler, and overwrites what differs.
 */
export function resourceRoutes<const Path extends string, const Id extends string>(resource: Resource<Path, Id>) {
  const { name, plural = `${name}s`, said, row, path, params, id, idSchema } = resource;
  const ofAll = { path, ...(params === undefined ? {} : { params: Type.Object(params) }) };
  const onePath = `${path}/:${id}` as const;
  const ofOne = { ...adminBase, path: onePath, errors: [], params: Type.Object({ ...params, [id]: idSchema }) };
  const bodyMaxBytes = ADMIN_BODY_MAX_BYTES;
  const oneRow = { description: said, schema: row };
  return {
    creating: {
      ...adminBase,
      ...ofAll,
      errors: [],
      method: 'post',
      operationId: `create${name}`,
      bodyMaxBytes,
      responses: { 201: oneRow },
    },
    /** For `listRoute`. */
    listing: { ...ofAll, operationId: `list${plural}`, name: plural.toLowerCase(), row },
    reading: { ...ofOne, method: 'get', operationId: `get${name}`, responses: { 200: oneRow } },
    changing: {
      ...ofOne,
      method: 'patch',
      operationId: `change${name}`,
      bodyMaxBytes,
      responses: { 200: oneRow },
    },
    deleting: {
      ...ofOne,
      method: 'delete',
      operationId: `delete${name}`,
      responses: { 204: { description: 'Deleted, now or before.' } },
    },
  } as const;
}

/** The answers with one row of a resource. */
export function rowAnswers<Row>(rowOf: (row: Row) => object) {
  return {
    created: (row: Row): Reply => ({ status: 201, body: rowOf(row) }),
    found: (row: Row): Reply => ({ status: 200, body: rowOf(row) }),
  };
}
