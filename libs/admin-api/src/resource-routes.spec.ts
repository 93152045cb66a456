import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { closedObject, named } from '@sealgate/http';
import { cursorCodec } from '@sealgate/paging';
import { expectProblem } from '@sealgate/testing';
import { Type } from '@sinclair/typebox';
import request from 'supertest';
import { adminSurface, OPERATOR, VIEWER } from '../test/admin-surface.ts';
import { adminRoute } from './admin-app.ts';
import { listRoute } from './list-route.ts';
import { resourceRoutes, rowAnswers } from './resource-routes.ts';

interface Desk {
  readonly desk: number;
}

const { creating, listing, reading, changing, deleting } = resourceRoutes({
  name: 'Desk',
  said: 'The desk.',
  row: named('Desk', Type.Object({ id: Type.String() })),
  path: '/admin/v1/rooms/:roomId/desks',
  params: { roomId: Type.String({ maxLength: 4 }) },
  id: 'deskId',
  idSchema: Type.String({ pattern: '^[0-9]+$' }),
});
const rowOf = ({ desk }: Desk) => ({ id: String(desk) });
const { created, found } = rowAnswers(rowOf);

const routes = [
  adminRoute({ ...creating, summary: 'Create', body: closedObject({}), handler: async () => created({ desk: 4 }) }),
  listRoute({
    ...listing,
    summary: 'List',
    boundTo: ['roomId'],
    rows: async ({ limit, after = 0 }) => [1, 2, 3].slice(after, after + limit).map((desk) => ({ desk })),
    positionOf: ({ desk }: Desk) => desk,
    rowOf,
    cursors: cursorCodec({ hasher: ServerSecrets.parse(`a:${'s'.repeat(32)}`).derive('desks'), now: () => 0 }),
  }),
  adminRoute({ ...reading, summary: 'Read', handler: async ({ params }) => found({ desk: Number(params.deskId) }) }),
  adminRoute({ ...changing, summary: 'Change', body: closedObject({}), handler: async () => found({ desk: 5 }) }),
  adminRoute({ ...deleting, summary: 'Delete', handler: async () => ({ status: 204 }) }),
];
const { app } = adminSurface(routes);
const DESKS = '/admin/v1/rooms/r1/desks';
const get = (path: string) => request(app).get(path).set('Authorization', `Bearer ${VIEWER}`);

describe('the routes of a resource', () => {
  it('are named after it', () => {
    expect(routes.map(({ operationId }) => operationId)).toEqual([
      'createDesk',
      'listDesks',
      'getDesk',
      'changeDesk',
      'deleteDesk',
    ]);
  });

  it('answer with rows', async () => {
    const as = (call: request.Test) => call.set('Authorization', `Bearer ${OPERATOR}`);
    expect(await as(request(app).post(DESKS)).send({})).toMatchObject({ status: 201, body: { id: '4' } });
    expect(await get(`${DESKS}/7`)).toMatchObject({ status: 200, body: { id: '7' } });
    expect(await as(request(app).patch(`${DESKS}/5`)).send({})).toMatchObject({ status: 200, body: { id: '5' } });
    expect((await as(request(app).delete(`${DESKS}/5`))).status).toBe(204);
  });

  it('list page by page, with cursors of one list', async () => {
    const first = await get(`${DESKS}?limit=2`);
    expect(first.body.items).toEqual([{ id: '1' }, { id: '2' }]);
    const cursor = first.body.nextCursor as string;
    expect((await get(`${DESKS}?limit=2&cursor=${cursor}`)).body).toEqual({ items: [{ id: '3' }], nextCursor: null });
    expectProblem(await get(`/admin/v1/rooms/r2/desks?cursor=${cursor}`), 'INVALID_CURSOR');
  });

  it('are missing at malformed ids, and forbid changes by viewers', async () => {
    expectProblem(await get(`${DESKS}/one`), 'NOT_FOUND');
    expectProblem(await get('/admin/v1/rooms/large/desks'), 'NOT_FOUND');
    expectProblem(await request(app).delete(`${DESKS}/5`).set('Authorization', `Bearer ${VIEWER}`), 'FORBIDDEN');
  });
});
