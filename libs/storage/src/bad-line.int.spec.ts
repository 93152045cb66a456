import { expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { gatedDatabases, outcome } from './testing/gated-databases.ts';

const { open, server, gate } = gatedDatabases();

type Fate = 'done' | 'may be done' | 'not done';

const fateOf = (answer: unknown): Fate => {
  if (Array.isArray(answer)) return 'done';
  return (answer as { sent: boolean }).sent ? 'may be done' : 'not done'; // `outcome` returned it.
};

it('reports each outcome truthfully under resets and lost answers', async () => {
  const database = open({ deadlineMs: 5_000 });
  const fates = new Map<number, Fate>();
  let next = 0;
  const insertSome = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 1) {
      next += 1;
      const id = next;
      const insert = { name: 'insert', text: 'INSERT INTO t VALUES ($1) RETURNING id', values: [id] };
      const call = id % 2 === 0 ? database.query(insert) : database.transaction((sql) => sql.query(insert));
      fates.set(id, fateOf(await outcome(call)));
      if (id % 31 === 0) gate().reset();
      if (id % 17 === 0) gate().loseNextAnswer();
    }
  };
  await Promise.all([1, 2, 3, 4, 5, 6].map(() => insertSome(60)));

  const observer = open({ url: server().url, deadlineMs: 10_000 });
  // Statements that were cut off may still be running on the server.
  const text = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'INSERT%' AND state <> 'idle'`;
  await until(async () => (await observer.query({ text })).length === 0);
  const rows = await observer.query<{ id: number }>({ text: 'SELECT id FROM t' });
  const there = new Set(rows.map(({ id }) => id));
  const wrong = [...fates].filter(
    ([id, fate]) => (fate === 'done' && !there.has(id)) || (fate === 'not done' && there.has(id)),
  );
  expect(wrong).toEqual([]);
  expect(fates.size).toBe(360);
  expect(new Set(fates.values()).has('may be done')).toBe(true); // Faults were injected.
  expect([...fates.values()].filter((fate) => fate === 'done').length).toBeGreaterThan(200);
}, 60_000);
