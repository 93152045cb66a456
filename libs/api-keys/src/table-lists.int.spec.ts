import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { foldText, type ListPosition, searchOf, searchText, tableList } from '@sealgate/paging';
import { openDatabase, type Database } from '@sealgate/storage';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import fc from 'fast-check';

interface Thing {
  readonly id: string;
  readonly name: string;
  readonly at: Date;
  readonly ended: Date | null;
}

let server: ThrowawayPostgres;
let sql: Database;
beforeAll(async () => {
  server = await throwawayPostgres();
  const bounds = { maxConnections: 2, connectTimeoutMs: 5_000, deadlineMs: 20_000 };
  sql = openDatabase({ applicationName: 'list-test', url: server.url, ...bounds });
  await sql.query({ text: 'CREATE SCHEMA desk' });
  await sql.query({
    text: `CREATE TABLE desk.things (id text COLLATE "C", desk text, name text, at timestamptz(3), ended timestamptz(3),
             folded text)`,
  });
}, 120_000);
afterAll(async () => {
  await sql.close();
  await server.stop();
});

const thingsOf = () =>
  tableList(sql, {
    from: 'desk.things l',
    columns: 'l.id, l.name, l.at, l.ended',
    id: 'l.id',
    orders: {
      name: { by: 'l.name COLLATE "C"', type: 'text' },
      at: { by: 'l.at', type: 'timestamptz' },
      ended: { by: 'l.ended', type: 'timestamptz', nullable: true },
    },
    whereOf: ({ desk }: { readonly desk: string }) => ({ conditions: [['l.desk = $', desk]] }),
    read: (row: Thing) => row,
  });

async function keep(things: readonly Thing[], desk = 'd'): Promise<void> {
  await sql.query({ text: 'DELETE FROM desk.things' });
  await sql.query({
    text: `INSERT INTO desk.things (id, desk, name, at, ended, folded)
           SELECT i, $1, n, a, e, f FROM unnest($2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::text[])
             u (i, n, a, e, f)`,
    values: [
      desk,
      things.map(({ id }) => id),
      things.map(({ name }) => name),
      things.map(({ at }) => at),
      things.map(({ ended }) => ended),
      things.map(({ id, name }) => searchText([id, name])),
    ],
  });
}

type Field = 'name' | 'at' | 'ended';

/** Compares code points, as `COLLATE "C"` does for UTF-8. */
const compared = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
const valueOf = (thing: Thing, field: Field): string | null =>
  field === 'name' ? thing.name : (thing[field]?.toISOString() ?? null);

/** What the list says it does, over an array. */
function expected(things: readonly Thing[], q: string, { field, descending }: { field: Field; descending: boolean }) {
  const turned = descending ? -1 : 1;
  const words = foldText(q).split(' ');
  const found = things.filter(({ id, name }) => words.every((word) => searchText([id, name]).includes(word)));
  return found
    .sort((one, other) => {
      const [a, b] = [valueOf(one, field), valueOf(other, field)];
      if ((a === null) !== (b === null)) return a === null ? 1 : -1;
      return turned * (compared(a ?? '', b ?? '') || compared(one.id, other.id));
    })
    .map(({ id }) => id);
}

const text = fc.string({ unit: fc.constantFrom('a', 'B', 'é', '京', '_', '%', '\\', ' ', '😀'), maxLength: 4 });
const when = fc.integer({ min: 0, max: 3 }).map((second) => new Date(Date.UTC(2030, 0, 1, 0, 0, second)));
const things = fc.uniqueArray(
  fc.record({ id: fc.integer({ min: 0, max: 999 }).map(String), name: text, at: when, ended: fc.option(when) }),
  { selector: ({ id }) => id, maxLength: 12 },
);

describe('a table as a list', () => {
  it('has every row that passes once, in its order, on pages of any size, in both ways to read it', async () => {
    const list = thingsOf();
    const sorting = fc.record({ field: fc.constantFrom<Field>('name', 'at', 'ended'), descending: fc.boolean() });
    const limits = fc.integer({ min: 1, max: 5 });
    await fc.assert(
      fc.asyncProperty(things, text, sorting, limits, fc.boolean(), async (all, q, order, limit, isMany) => {
        await keep(all);
        const search = searchOf(q);
        const ids = expected(all, q, order);
        expect(await list.count({ desk: 'd', search })).toBe(ids.length);
        expect(await list.count({ desk: 'other', search })).toBe(0);
        const seen: string[] = [];
        let after: ListPosition | undefined;
        for (;;) {
          const wanted = { desk: 'd', search, sorting: order, limit, after };
          const page = await list.rows({ ...wanted, counted: isMany ? 10_001 : ids.length });
          seen.push(...page.map(({ row }) => row.id));
          after = page.at(-1)?.position;
          if (page.length < limit) break;
        }
        expect(seen).toEqual(ids);
      }),
      { numRuns: 150 },
    );
  }, 60_000);

  it('counts no further than one more than ten thousand', async () => {
    await sql.query({ text: 'DELETE FROM desk.things' });
    const text = `INSERT INTO desk.things (id, desk, name, at, folded)
                  SELECT n, 'd', n, now(), n FROM generate_series(1, 12000) n`;
    await sql.query({ text });
    expect(await thingsOf().count({ desk: 'd' })).toBe(10_001);
    expect(await thingsOf().count({ desk: 'd', search: searchOf('119') })).toBe(132);
  });
});
