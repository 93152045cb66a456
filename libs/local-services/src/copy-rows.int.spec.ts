import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import pg from 'pg';
import { copyRows, fillTable } from './copy-rows.ts';

let postgres: ThrowawayPostgres;
let client: pg.Client;
beforeAll(async () => {
  postgres = await throwawayPostgres();
  client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
}, 120_000);
afterAll(async () => {
  await client.end();
  await postgres.stop();
});

const rowsOf = async (text: string) => (await client.query(text)).rows;

describe('copies of rows', () => {
  it('differ from the row as they are told to, and have its other columns', async () => {
    await client.query(`CREATE TABLE notes (number integer PRIMARY KEY, title text, owner text)`);
    await client.query(`INSERT INTO notes VALUES (0, 'first', 'ann'), (100, 'other', 'bob')`);
    await copyRows(postgres.url, {
      ...{ table: 'notes', count: 2, from: `owner = 'ann'` },
      set: { number: 't.number + g', title: `t.title || g` },
    });
    expect(await rowsOf('SELECT * FROM notes WHERE number BETWEEN 1 AND 99 ORDER BY 1')).toEqual([
      { number: 1, title: 'first1', owner: 'ann' },
      { number: 2, title: 'first2', owner: 'ann' },
    ]);
    await expect(copyRows(postgres.url, { table: 'notes', count: 1, set: {}, from: 'false' })).rejects.toThrow(
      'notes has no row to copy.',
    );
  });

  it('leave a table with its indexes where they are many', async () => {
    await client.query(`CREATE TABLE many (number integer PRIMARY KEY, title text)`);
    await client.query(`CREATE INDEX many_by_title ON many (title DESC) WHERE number > 5`);
    await client.query(`INSERT INTO many VALUES (0, 'first')`);
    const indexes = () => rowsOf(`SELECT indexdef FROM pg_indexes WHERE tablename = 'many' ORDER BY 1`);
    const before = await indexes();
    const copies = (first: number) => ({ count: 60_000, from: 'number = 0', set: { number: `${first} + g` } });
    await fillTable(postgres.url, 'many', [copies(0), copies(60_000)]);
    expect(await rowsOf('SELECT count(*)::int AS rows, max(number) AS last FROM many')).toEqual([
      { rows: 120_001, last: 120_000 },
    ]);
    expect(await indexes()).toEqual(before);
  }, 60_000);

  it('leave every partition with its indexes, too', async () => {
    await client.query(`CREATE TABLE parts (number integer NOT NULL, title text) PARTITION BY RANGE (number)`);
    await client.query(`CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (1000)`);
    await client.query(`CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (1000) TO (1000000)`);
    await client.query(`CREATE INDEX parts_by_title ON parts (title)`);
    await client.query(`INSERT INTO parts VALUES (0, 'first')`);
    const indexed = () =>
      rowsOf(`SELECT indrelid::regclass::text AS of, indisvalid FROM pg_index
               WHERE indrelid::regclass::text LIKE 'parts%' ORDER BY 1`);
    const before = await indexed();
    expect(before).toHaveLength(3);
    await fillTable(postgres.url, 'parts', [{ count: 100_000, set: { number: 'g' } }]);
    expect(await indexed()).toEqual(before);
  }, 60_000);
});
