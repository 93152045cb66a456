import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { SETUP_MS, type RunningGate } from '../test/running-gate.ts';
import {
  CHANGE_NAMES,
  changesOf,
  restoreRows,
  remove,
  TABLES,
  undoSite,
  type Arranged,
  type Rows,
  type UndoSite,
} from '../test/undo.ts';

const TIMEOUT_MS = 60_000;

let at: UndoSite;
beforeAll(async () => {
  at = await undoSite();
}, SETUP_MS);
afterAll(() => at.stop());

type Undo = (before: Rows, rows: Arranged['rows']) => Promise<unknown>;

const UNDOS: Readonly<Record<string, Undo>> = {
  'of its whole row': (before, rows) =>
    at.asService(async (sql) => {
      const [table, where] = Object.entries(rows)[0]!;
      await remove(sql, table, where);
      await restoreRows(sql, table, { rows: before[table]!, where });
    }),
  'of all its rows, with the outbox emptied': (before, rows) =>
    at.asService(async (sql) => {
      await remove(sql, 'outbox', 'true');
      for (const [table, where] of Object.entries(rows)) {
        await remove(sql, table, where);
        await restoreRows(sql, table, { rows: before[table]!, where });
      }
    }),
  'of all tables': (before) =>
    at.asService(async (sql) => {
      for (const table of TABLES) {
        await remove(sql, table, 'true');
        await restoreRows(sql, table, { rows: before[table]!, where: 'true' });
      }
    }),
  'by deleting all its rows': (_, rows) =>
    at.asService(async (sql) => {
      await remove(sql, 'outbox', 'true');
      for (const [table, where] of Object.entries(rows)) await remove(sql, table, where);
    }),
};

/** Retries: a new process refuses addresses for its first moment, because its limits begin empty. */
async function askOnceStarted({ ask }: Arranged, gate: RunningGate): Promise<string> {
  let said = '';
  await until(async () => !(said = await ask(gate)).startsWith('429'));
  return said;
}

describe.each(CHANGE_NAMES)('%s', (name) => {
  it.each(Object.entries(UNDOS))(
    'is not undone by restoring rows (%s), on no replica: this one, one that allowed it, or one started later',
    async (_undo, undo) => {
      const { site, other } = at;
      const { arrange, before, after } = changesOf(at)[name];
      const made = await arrange();
      const warm = await site.replica();
      for (const gate of [site, warm]) expect(await made.ask(gate)).toBe(before);
      const rows = await at.read();
      expect((await made.act()).status).toBeLessThan(300);
      await undo(rows, made.rows);
      // At once, and again when the first answers are cached.
      const fresh = await site.replica();
      for (let turn = 0; turn < 2; turn += 1) {
        for (const gate of [warm, site, fresh, other]) expect(await askOnceStarted(made, gate)).toMatch(after);
      }
      await Promise.all([warm.stop(), fresh.stop()]);
    },
    TIMEOUT_MS,
  );
});
