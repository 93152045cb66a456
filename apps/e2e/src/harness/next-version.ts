import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { until } from '@sealgate/testing';
import { programOf } from './bundle.ts';
import type { Gateway } from './gateway-process.ts';

/**
 * A build of the next version of a surface: every table and view has one column more, which this version does not know.
 * `migrationOf` gives further statements for a set of migrations, from what the set says now. Returns its programs.
 */
export function nextVersion(
  surface: string,
  folder: string,
  migrationOf: (set: string, now: string) => readonly string[] = () => [],
): { readonly main: string; readonly migrate: string } {
  const dist = join(folder, surface, 'dist');
  cpSync(dirname(programOf(surface, 'main')), dist, { recursive: true });
  for (const set of readdirSync(join(dist, 'migrations'))) {
    const migrations = join(dist, 'migrations', set);
    const files = readdirSync(migrations).sort();
    const now = files.map((file) => readFileSync(join(migrations, file), 'utf8')).join('\n');
    const tables = [...now.matchAll(/^CREATE TABLE (\w+) \(/gm)].map(([, table]) => table!);
    if (tables.length === 0) throw new Error(`The migrations ${set} make no table.`);
    const columns = tables.map((table) => `ALTER TABLE ${table} ADD COLUMN next text;`);
    const views = [...now.matchAll(/^CREATE VIEW (\w+) AS\n([^;]+);/gm)].map(
      ([, view, query]) => `CREATE OR REPLACE VIEW ${view} AS SELECT v.*, NULL::text AS next FROM (${query}) v;`,
    );
    const number = String(Number.parseInt(files.at(-1)!) + 1).padStart(4, '0');
    const migration = ['-- Up Migration', ...columns, ...views, ...migrationOf(set, now), ''];
    writeFileSync(join(migrations, `${number}_next.sql`), migration.join('\n'));
  }
  return { main: join(dist, 'main.js'), migrate: join(dist, 'migrate.js') };
}

/** What a caller asks again and again, of one process or of two that serve: it says what was answered. */
export type Ask = (at: Gateway, other: Gateway) => Promise<string>;

/**
 * Callers that ask everything of a process in turn, two at once, until they are told to stop. `other` tells which
 * process serves beside it now. What is answered 503 is asked again, as the documentation says: on a machine under load
 * a deadline passes without any fault. Who is kept out for longer gets no further, and a denial at a door always counts.
 */
export function callers(at: Gateway, asks: readonly Ask[], other: () => Gateway) {
  const heard = new Set<string>();
  let rounds = 0;
  let isOver = false;
  const hear = async (ask: Ask): Promise<void> => {
    const answer = await ask(at, other()).catch(String);
    if (!/\b503\b(?! deny)/.test(answer)) heard.add(answer);
    else if (!isOver) await hear(ask);
  };
  const caller = async (): Promise<void> => {
    while (!isOver) {
      for (const ask of asks) await hear(ask);
      rounds += 1;
    }
  };
  const ended = Promise.all([caller(), caller()]);
  return {
    /** Resolves once everything was asked this many times more. */
    more: (count: number) => {
      const from = rounds;
      return until(() => rounds >= from + count, { what: 'more answers' });
    },
    /** What was answered, each text once. */
    stop: async (): Promise<readonly string[]> => {
      isOver = true;
      await ended;
      return [...heard].sort();
    },
  };
}
