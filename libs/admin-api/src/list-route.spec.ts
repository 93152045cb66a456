import { beforeEach, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { enumOf, named } from '@sealgate/http';
import { cursorCodec } from '@sealgate/paging';
import { expectProblem, testClock } from '@sealgate/testing';
import { Type } from '@sinclair/typebox';
import request from 'supertest';
import { ADMIN, adminSurface, VIEWER } from '../test/admin-surface.ts';
import { exportedList, listRoute, timeFilter } from './list-route.ts';

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

const NAMES = ['-dash', 'plain', '=SUM(1)', 'x,y'];
const allNamed = Array.from({ length: 1200 }, (_, place) => ({
  id: `n${String(place).padStart(4, '0')}`,
  name: NAMES[place % NAMES.length],
}));
type NamedRow = (typeof allNamed)[number];
const audited: object[] = [];
let stepsThatWork = Infinity;

const exported = exportedList({
  path: '/admin/v1/desks/:deskId/names',
  params: Type.Object({ deskId: Type.String() }),
  operationId: 'listNames',
  summary: 'List names',
  search: true,
  sorts: { fields: ['id', 'name'], default: '-id' },
  name: 'names',
  boundTo: ['deskId'],
  holder: async ({ deskId }) => {
    if (deskId === 'gone') throw new AppError('NOT_FOUND', 'There is no such desk.');
  },
  count: async ({ search }) => (search === undefined ? 10_001 : 3),
  rows: async ({ limit, after = '', ...wanted }: { readonly limit: number; readonly after: string | undefined }) => {
    asked.push({ ...wanted });
    if (asked.length > stepsThatWork) throw new Error('The database is away.');
    return allNamed.filter(({ id }) => id > after).slice(0, limit);
  },
  positionOf: ({ id }: NamedRow) => id,
  row: named('NamedThing', Type.Object({ id: Type.String(), name: Type.String() })),
  exported: {
    resource: 'name',
    of: 'deskId',
    auditChange: async ({ caller, requestId }, change) =>
      void audited.push({ ...change, actor: caller.actor, requestId }),
  },
  cursors,
});

const { app } = adminSurface([
  ...exported,
  listRoute(things),
  listRoute({ ...things, path: '/admin/v1/shelves/:boxId/things', operationId: 'listShelved', name: 'shelved' }),
]);
const get = (path: string, token = VIEWER) =>
  request(app).get(`/admin/v1/${path}`).set('Authorization', `Bearer ${token}`);

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

describe('a list that is searched and sorted', () => {
  it('tells its total, exact up to 10,000', async () => {
    expect((await get('desks/d1/names')).body.total).toBe('10000+');
    expect((await get('desks/d1/names?q=plain')).body.total).toBe(3);
    expect((await get('boxes/b1/things')).body).not.toHaveProperty('total');
  });

  it('gives the statement the words, the order and what was counted', async () => {
    await get('desks/d1/names');
    await get('desks/d1/names?q=Zür%20x&sort=name');
    expect(asked).toEqual([
      { deskId: 'd1', counted: 10_001, sorting: { field: 'id', descending: true } },
      {
        deskId: 'd1',
        counted: 3,
        sorting: { field: 'name', descending: false },
        search: { words: ['zur', 'x'], grams: ['zur', 'x'], patterns: ['%zur%', '%x%'] },
      },
    ]);
  });

  it('binds its cursors to the words and the order', async () => {
    const { nextCursor } = (await get('desks/d1/names?limit=1&q=a&sort=name')).body as { nextCursor: string };
    await get(`desks/d1/names?limit=1&q=a&sort=name&cursor=${nextCursor}`).expect(200);
    for (const other of ['q=a', 'q=b&sort=name', 'q=a&sort=-name', 'sort=name', ''])
      expectProblem(await get(`desks/d1/names?${other}&cursor=${nextCursor}`), 'INVALID_CURSOR');
  });

  it.each([
    ['sort=colour', '/sort'],
    ['sort=', '/sort'],
    ['sort=--name', '/sort'],
    ['q=', '/q'],
    [`q=${'é'.repeat(101)}`, '/q'],
  ])('refuses %s', async (query, pointer) => {
    expectProblem(await get(`desks/d1/names?${query}`), 'INVALID_REQUEST', { errors: [{ in: 'query', pointer }] });
    expect(asked).toEqual([]);
  });

  it('counts a word in code points', async () => {
    await get(`desks/d1/names?q=${encodeURIComponent('😀'.repeat(100))}`).expect(200);
  });

  it.each(['q=a', 'sort=row'])('refuses %s where it has none', async (query) => {
    expectProblem(await get(`boxes/b1/things?${query}`), 'UNKNOWN_PARAMETER');
  });
});

describe('an export of a list', () => {
  beforeEach(() => {
    audited.length = 0;
    stepsThatWork = Infinity;
  });

  it('is the whole list as CSV in which nothing runs', async () => {
    const { text, headers } = await get('desks/d1/names/export?format=csv&sort=id', ADMIN).expect(200);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    expect(headers['content-disposition']).toBe('attachment; filename="names.csv"');
    const lines = text.split('\r\n');
    expect(lines.slice(0, 5)).toEqual(['id,name', "n0000,'-dash", 'n0001,plain', "n0002,'=SUM(1)", 'n0003,"x,y"']);
    expect(lines).toHaveLength(1202);
    // Three steps of five hundred.
    expect(asked).toHaveLength(3);
  });

  it('takes a place of those that may last', () => {
    expect(exported.map(({ looks }) => looks)).toEqual([true, 'stream']);
  });

  it('is JSON Lines, of the words and the order of the list', async () => {
    const response = await get('desks/d1/names/export?format=jsonl&q=a', ADMIN).buffer(true).expect(200);
    expect(response.headers['content-type']).toBe('application/jsonl');
    const lines = String(response.text ?? response.body)
      .trimEnd()
      .split('\n');
    expect(JSON.parse(lines[1199]!)).toEqual({ id: 'n1199', name: 'x,y' });
    expect(asked[0]).toMatchObject({ counted: 3, sorting: { field: 'id', descending: true } });
  });

  it('is audited before its first byte', async () => {
    await get('desks/d1/names/export?format=csv&q=a', ADMIN).set('X-Request-Id', 'r1').expect(200);
    const detail = { deskId: 'd1', format: 'csv', q: 'a', sort: '-id' };
    const event = { action: 'list.export', resource: 'name', resourceId: 'd1', detail, requestId: 'r1' };
    expect(audited).toMatchObject([event]);
  });

  it('is for operators, and refuses what the list refuses', async () => {
    expectProblem(await get('desks/d1/names/export?format=csv'), 'FORBIDDEN');
    expectProblem(await get('desks/gone/names/export?format=csv', ADMIN), 'NOT_FOUND');
    for (const query of ['', 'format=xml', 'format=csv&sort=x', 'format=csv&q='])
      expectProblem(await get(`desks/d1/names/export?${query}`, ADMIN), 'INVALID_REQUEST');
    for (const query of ['format=csv&limit=1', 'format=csv&cursor=x', 'format=csv&format=csv'])
      expectProblem(await get(`desks/d1/names/export?${query}`, ADMIN), 'UNKNOWN_PARAMETER');
    expect(audited).toEqual([]);
  });

  it('is a problem where the first step fails, and breaks off where a later one does', async () => {
    stepsThatWork = 0;
    expectProblem(await get('desks/d1/names/export?format=csv', ADMIN), 'INTERNAL');
    stepsThatWork = 2;
    await expect(get('desks/d1/names/export?format=csv', ADMIN)).rejects.toThrow(/aborted|hang up/);
  });
});
