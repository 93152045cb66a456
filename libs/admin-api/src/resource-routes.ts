import { listOf, listQuery, type Reply } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type TProperties, type TSchema } from '@sinclair/typebox';
import { ADMIN_BODY_MAX_BYTES, ADMIN_LIST_RANGE, adminBase, readPage } from './admin-app.ts';

interface Resource<Path extends string, Id extends string> {
  /** Singular, and plural unless an `s` makes it: they name the operations. */
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
  const ofAll = { ...adminBase, path, errors: [], ...(params === undefined ? {} : { params: Type.Object(params) }) };
  const onePath = `${path}/:${id}` as const;
  const ofOne = { ...adminBase, path: onePath, errors: [], params: Type.Object({ ...params, [id]: idSchema }) };
  const bodyMaxBytes = ADMIN_BODY_MAX_BYTES;
  const oneRow = { description: said, schema: row };
  return {
    creating: {
      ...ofAll,
      method: 'post',
      operationId: `create${name}`,
      bodyMaxBytes,
      responses: { 201: oneRow },
    },
    listing: {
      ...ofAll,
      method: 'get',
      operationId: `list${plural}`,
      query: listQuery(ADMIN_LIST_RANGE, {}),
      responses: { 200: { description: 'A page.', schema: listOf(row) } },
    },
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

/** The answers with rows of a resource. */
export function rowAnswers<Row>({
  rowOf,
  positionOf,
  cursors,
}: {
  readonly rowOf: (row: Row) => object;
  /** The place of a row in the list. */
  readonly positionOf: (row: Row) => string;
  readonly cursors: CursorCodec;
}) {
  return {
    created: (row: Row): Reply => ({ status: 201, body: rowOf(row) }),
    found: (row: Row): Reply => ({ status: 200, body: rowOf(row) }),
    /**
     * A page of the list that the binding names, with its filters. `rowsAfter` is called with the position after which
     * the page starts, which is empty for the first page.
     * @throws AppError INVALID_LIMIT, INVALID_CURSOR.
     */
    async page(
      query: { readonly limit?: string; readonly cursor?: string },
      binding: readonly string[],
      rowsAfter: (page: { readonly limit: number; readonly after: string }) => Promise<readonly Row[]>,
    ): Promise<Reply> {
      const page = readPage(query, cursors, binding);
      const rows = await rowsAfter({ limit: page.limit + 1, after: String(page.after ?? '') });
      return { status: 200, body: page.answer(rows, { item: rowOf, position: positionOf }) };
    },
  };
}
