import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { COUNT_LIMIT, isFound, sortingOf, sortText } from '@sealgate/paging';
import fc from 'fast-check';
import { canonical } from '@sealgate/json';
import { dashboardSummaries } from './data/dashboard-reads.ts';
import { allPlaces, countedPage, pageOfMany, uncountedPage } from './data/find-rows.ts';
import { insertRow } from './data/insert-row.ts';
import { columnsOf } from './data/resource-writes.ts';
import type { RowScope } from './domain/caller.ts';
import { evidenceKind, stateAt, type Evidence } from './domain/evidence.ts';
import type { Place } from './domain/resource-ports.ts';
import { testInstallation, type TestInstallation } from './testing/test-installation.ts';

const NOW_MS = Date.UTC(2026, 5, 1);
const DAY_MS = 86_400_000;
const at = (day: number) => new Date(NOW_MS + day * DAY_MS).toISOString();

let service: TestInstallation;
beforeAll(async () => {
  service = await testInstallation();
}, 120_000);
afterAll(() => service.stop());

const row = fc.record({
  title: fc.constantFrom('Zürich', 'zurich office', 'A', 'a b', '京都', '100%'),
  department: fc.constantFrom('ops', 'fin', null),
  ownerId: fc.constantFrom('me', 'you'),
  sensitive: fc.boolean(),
  state: fc.constantFrom('collected' as const, 'approved' as const),
  createdAt: fc.integer({ min: 1, max: 3 }),
  updatedAt: fc.integer({ min: 1, max: 3 }),
  validUntil: fc.constantFrom(null, -1, 0, 10, 30, 40),
});

const scope = fc.record({
  ownerId: fc.constantFrom('me', null),
  unrestricted: fc.boolean(),
  canReadSensitive: fc.boolean(),
  departments: fc.subarray(['ops', 'fin', 'none']),
});

const asked = fc.record({
  q: fc.constantFrom(undefined, 'zur', 'a', 'b a', '京', '%', 'x'),
  filters: fc.record(
    {
      state: fc.constantFrom('collected', 'approved', 'expiring', 'expired'),
      ownerId: fc.constantFrom('me', 'you'),
      updatedSince: fc.constantFrom(at(2), at(4)),
    },
    { requiredKeys: [] },
  ),
  sort: fc.constantFrom(
    ...(['createdAt', '-createdAt', 'title', '-title', 'validUntil', '-validUntil', '-updatedAt'] as const),
  ),
  limit: fc.integer({ min: 1, max: 4 }),
  /** After so many rows a walk is given up. */
  walked: fc.constantFrom(1, 3, 100),
});

type Made = typeof row extends fc.Arbitrary<infer Value> ? Value : never;

function docOf(made: Made, index: number): Evidence {
  const writing = { id: `evd_${index}`, personId: 'me', nowMs: NOW_MS };
  const blank = evidenceKind.make({ title: made.title, kind: 'link' }, writing);
  const validUntil = made.validUntil === null ? null : at(made.validUntil);
  return { ...blank, ...made, validUntil, createdAt: at(made.createdAt), updatedAt: at(made.updatedAt) };
}

async function insert(orgId: string, doc: Evidence): Promise<void> {
  const columns = columnsOf('evidence', { n: 1, doc }, 1);
  await service.sql.query(insertRow('resources', { org_id: orgId, kind: 'evidence', id: doc.id, ...columns }));
}

/** The law of every list: filter, then sort; absent values last, equal ones by id, in the direction of the order. */
function inMemory(
  docs: readonly Evidence[],
  { departments, unrestricted, canReadSensitive, ownerId }: Omit<RowScope, 'orgId'>,
  {
    q,
    filters,
    sort,
  }: { readonly q: string | undefined; readonly filters: Record<string, string>; readonly sort: string },
): string[] {
  const seen = docs.filter((doc) => {
    const isOwner = doc.ownerId === ownerId;
    const isReached = unrestricted || isOwner || departments.includes(doc.department ?? '');
    if (!isReached || (doc.sensitive && !canReadSensitive && !isOwner)) return false;
    if (q !== undefined && !isFound(q, [doc.id, doc.title])) return false;
    if (filters['state'] !== undefined && stateAt(doc.state, doc.validUntil, NOW_MS) !== filters['state']) return false;
    if (filters['ownerId'] !== undefined && doc.ownerId !== filters['ownerId']) return false;
    return filters['updatedSince'] === undefined || doc.updatedAt >= filters['updatedSince'];
  });
  const { field, descending } = sortingOf(sort as 'title' | '-title');
  const valueOf = (doc: Evidence) => (field === 'title' ? sortText(doc.title) : (doc[field] as string | null));
  const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return seen
    .toSorted((a, b) => {
      const [left, right] = [valueOf(a), valueOf(b)];
      const turned = descending ? -1 : 1;
      if (left === null || right === null)
        return Number(left === null) - Number(right === null) || compare(a.id, b.id) * turned;
      return (compare(left, right) || compare(a.id, b.id)) * turned;
    })
    .map(({ id }) => id);
}

it('a list is what filtering and sorting its rows in memory gives, however its rows are found', async () => {
  let rounds = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { maxLength: 12 }),
      scope,
      fc.array(asked, { minLength: 3, maxLength: 6 }),
      async (rows, seen, lists) => {
        const orgId = `org_${(rounds += 1)}`;
        await service.sql.query(insertRow('orgs', { org_id: orgId, name: 'x', created_at: at(0), revised_at: at(0) }));
        const docs = rows.map(docOf);
        for (const doc of docs) await insert(orgId, doc);
        for (const list of lists) {
          const wanted = {
            kind: 'evidence',
            scope: { ...seen, orgId },
            filters: list.filters,
            q: list.q,
            nowMs: NOW_MS,
          } as const;
          const expected = inMemory(docs, seen, list);
          const sorting = sortingOf(list.sort);
          const walk = async (read: (after: Place | undefined) => Promise<Place[]>) => {
            const ids: string[] = [];
            for (let after: Place | undefined; ;) {
              const places = await read(after);
              ids.push(...places.map(({ id }) => id));
              after = places.at(-1);
              if (places.length < list.limit) return ids;
            }
          };
          const page = { sorting, limit: list.limit };
          const few = await walk(async (after) => {
            const { rows: places, counted } = await countedPage(service.sql, wanted, { ...page, after });
            expect(counted).toBe(Math.min(expected.length, COUNT_LIMIT));
            return places;
          });
          const many = await walk((after) => pageOfMany(service.sql, wanted, { ...page, after }, list.walked));
          const uncounted = await walk((after) => uncountedPage(service.sql, wanted, { ...page, after }, list.walked));
          const all = await idsOf(allPlaces(service.sql, wanted, sorting));
          expect({ few, many, uncounted, all }).toEqual({
            ...{ few: expected, many: expected },
            ...{ uncounted: expected, all: expected },
          });
        }
      },
    ),
    { numRuns: 60 },
  );
}, 120_000);

async function idsOf(pages: AsyncIterable<readonly Place[]>): Promise<string[]> {
  const ids: string[] = [];
  for await (const places of pages) ids.push(...places.map(({ id }) => id));
  return ids;
}

it('an export of few rows finds and counts them once; one of all rows counts none', async () => {
  const orgId = 'org_exported';
  await service.sql.query(insertRow('orgs', { org_id: orgId, name: 'x', created_at: at(0), revised_at: at(0) }));
  const [made] = fc.sample(row, 1);
  await insert(orgId, { ...docOf(made!, 0), ownerId: 'me', department: 'ops', sensitive: false });
  await service.sql.query({
    text: `INSERT INTO risk.resources SELECT (jsonb_populate_record(r, jsonb_build_object('id', r.id || g))).*
             FROM risk.resources r, generate_series(1, 1199) g WHERE r.org_id = $1`,
    values: [orgId],
  });
  const asked: string[] = [];
  const sql = {
    query: <Answer extends object>(statement: { readonly text: string; readonly values?: readonly unknown[] }) => {
      asked.push(statement.text);
      return service.sql.query<Answer>(statement);
    },
  };
  const all = { orgId, ownerId: 'me', departments: [], unrestricted: true, canReadSensitive: true };
  for (const [seen, statements, counts] of [
    [{ ...all, canReadSensitive: false }, 1, 1],
    [all, 3, 0],
  ] as const) {
    asked.length = 0;
    const wanted = { kind: 'evidence', scope: seen, filters: {}, q: undefined, nowMs: NOW_MS } as const;
    const ids = await idsOf(allPlaces(sql, wanted, sortingOf('-createdAt')));
    expect([ids.length, new Set(ids).size]).toEqual([1200, 1200]);
    expect([asked.length, asked.filter((text) => text.includes('count(')).length]).toEqual([statements, counts]);
  }
});

it('aggregates count what a list of the caller would show, after rows were added, changed and removed', async () => {
  let rounds = 0;
  const summaries = dashboardSummaries(service.sql);
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { maxLength: 10 }),
      fc.array(row, { maxLength: 5 }),
      scope,
      async (rows, changed, seen) => {
        const orgId = `org_counted_${(rounds += 1)}`;
        await service.sql.query(insertRow('orgs', { org_id: orgId, name: 'x', created_at: at(0), revised_at: at(0) }));
        const docs = rows.map((made, index) => docOf(made, index));
        for (const doc of docs) await insert(orgId, doc);
        for (const [index, made] of changed.slice(0, docs.length).entries()) {
          docs[index] = docOf(made, index);
          const columns = columnsOf('evidence', { n: 2, doc: docs[index] }, 1);
          const set = Object.keys(columns).map((name, place) => `${name} = $${place + 3}`);
          const text = `UPDATE risk.resources SET ${set.join(', ')} WHERE org_id = $1 AND id = $2`;
          await service.sql.query({ text, values: [orgId, docs[index].id, ...Object.values(columns)] });
        }
        const gone = docs.pop();
        const remove = 'DELETE FROM risk.resources WHERE org_id = $1 AND id = $2';
        if (gone !== undefined) await service.sql.query({ text: remove, values: [orgId, gone.id] });
        const states = inMemory(docs, seen, { q: undefined, filters: {}, sort: 'createdAt' }).map((id) => {
          const { state, validUntil } = docs.find((doc) => doc.id === id)!;
          return stateAt(state, validUntil, NOW_MS);
        });
        const counts = await summaries.evidenceStates({ ...seen, orgId }, NOW_MS);
        const expected: Record<string, number> = {};
        for (const state of states) expected[state] = (expected[state] ?? 0) + 1;
        expect(Object.fromEntries(counts)).toEqual(expected);
      },
    ),
    { numRuns: 60 },
  );
}, 120_000);

it('a stored row tells what it is counted as', async () => {
  const doc = evidenceKind.make(
    { title: 'x', kind: 'link', controlIds: ['ctl_1'] },
    { id: 'evd_1', personId: 'me', nowMs: NOW_MS },
  );
  const approved = { ...doc, state: 'approved', validUntil: '2026-06-02T00:00:00.000Z' } as const;
  const { counted, item } = columnsOf('evidence', { n: 1, doc: approved }, 1);
  // 2026-06-01 is the 20,605th day; its end, at midnight, belongs to it.
  expect(counted).toEqual(['all', 'state:approved', 'until:1020606', 'link:ctl_1']);
  expect(canonical(JSON.parse(String(item)))).toBe(item);
});
