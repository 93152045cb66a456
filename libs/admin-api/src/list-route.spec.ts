import { beforeEach, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { enumOf, named } from '@sealgate/http';
import { cursorCodec } from '@sealgate/paging';
import { expectProblem, testClock } from '@sealgate/testing';
import { Type } from '@sinclair/typebox';
import request from 'supertest';
import { adminSurface, VIEWER } from '../test/admin-surface.ts';
import { listRoute, timeFilter } from './list-route.ts';

const hasher = ServerSecrets.parse(`a:${'s'.repeat(32)}`).derive('list tests');
const cursors = cursorCodec({ hasher, now: testClock().now });

let asked: object[];
beforeEach(() => {
  asked = [];
});

const things = {
  path: '/admin/v1/boxes/:boxId/things',
  params: Type.Object({ boxId: Type.String() }),
  operationId: 'listThings',
  summary: 'List things',
  filters: {
    order: Type.Optional(enumOf('ThingOrder', ['up', 'down'])),
    colour: Type.Optional(Type.String()),
    from: timeFilter,
  },
  defaults: { order: 'up' },
  name: 'things',
  boundTo: ['boxId', 'order', 'colour', 'from'],
  holder: async ({ boxId }: { readonly boxId: string }) => {
    if (boxId === 'gone') throw new AppError('NOT_FOUND', 'There is no such box.');
  },
  rows: async (wanted: { readonly limit: number; readonly after: number | undefined }) => {
    const { limit, after = 0, ...filter } = wanted;
    asked.push(filter);
    return Array.from({ length: Math.min(limit, 250 - after) }, (_, place) => after + place + 1);
  },
  positionOf: (row: number) => row,
  row: named('Thing', Type.Object({ row: Type.Integer() })),
  rowOf: (row: number) => ({ row }),
  cursors,
} as const;

const { app } = adminSurface([
  listRoute(things),
  listRoute({ ...things, path: '/admin/v1/shelves/:boxId/things', operationId: 'listShelved', name: 'shelved' }),
]);
const get = (path: string) => request(app).get(`/admin/v1/${path}`).set('Authorization', `Bearer ${VIEWER}`);

describe('a list', () => {
  it('has fifty items a page by default, and at most two hundred', async () => {
    expect((await get('boxes/b1/things')).body.items).toHaveLength(50);
    expect((await get('boxes/b1/things?limit=200')).body.items).toHaveLength(200);
    expectProblem(await get('boxes/b1/things?limit=201'), 'INVALID_LIMIT');
  });

  it('is read to its end, where nextCursor is null', async () => {
    const seen: { row: number }[] = [];
    let query = 'limit=100';
    for (let pages = 1; query !== ''; pages += 1) {
      const { items, nextCursor } = (await get(`boxes/b1/things?${query}`)).body;
      seen.push(...items);
      query = nextCursor === null ? '' : `limit=100&cursor=${nextCursor}`;
      expect(pages).toBeLessThanOrEqual(3);
    }
    expect(seen.map(({ row }) => row)).toEqual(Array.from({ length: 250 }, (_, place) => place + 1));
  });

  it('gives the statement what was asked for, with defaults, and times as Dates', async () => {
    await get('boxes/b1/things');
    await get('boxes/b1/things?order=down&colour=red&from=2030-01-02T03:04:05%2B01:00');
    expect(asked).toEqual([
      { boxId: 'b1', order: 'up' },
      { boxId: 'b1', order: 'down', colour: 'red', from: new Date('2030-01-02T02:04:05Z') },
    ]);
  });

  it('refuses a cursor of another list, another holder or other filters', async () => {
    const cursor = (await get('boxes/b1/things?limit=1')).body.nextCursor as string;
    expect((await get(`boxes/b1/things?limit=1&order=up&cursor=${cursor}`)).body.items).toEqual([{ row: 2 }]);
    for (const other of ['shelves/b1/things?', 'boxes/b2/things?', 'boxes/b1/things?colour=red&'])
      expectProblem(await get(`${other}cursor=${cursor}`), 'INVALID_CURSOR');
    expect(asked).toHaveLength(2);
  });

  it('refuses what has no such list before the cursor', async () => {
    expectProblem(await get('boxes/gone/things?cursor=x'), 'NOT_FOUND');
    expectProblem(await get('boxes/b1/things?cursor=x'), 'INVALID_CURSOR');
    expect(asked).toEqual([]);
  });

  it('cannot have a filter that its cursors ignore', () => {
    expect(() => listRoute({ ...things, boundTo: ['boxId', 'order', 'from'] })).toThrow(
      'listThings: a cursor would not be bound to colour.',
    );
  });
});
