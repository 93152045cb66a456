import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { until, type ThrowawayPostgres } from '@sealgate/testing';
import { migratedPostgres, programOf, runMigrations } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { approvedSubject, doorAnswer, gateSetup, type GateSetup } from './harness/gate-setup.ts';
import type { Gateway } from './harness/gateway-process.ts';

let postgres: ThrowawayPostgres;
let setup: GateSetup;
beforeAll(async () => {
  postgres = await migratedPostgres('case-gate');
  setup = await gateSetup({ postgres });
}, setupTimeoutMs);
afterAll(async () => {
  await setup.stop();
  await postgres.stop();
}, setupTimeoutMs);

/** The next version: a column more in the tables that each check reads, and a look-up made anew that returns one. */
function nextVersion(): string {
  const folder = join(setup.folder, 'case-gate/dist');
  cpSync(dirname(programOf('case-gate', 'main')), folder, { recursive: true });
  const migrations = join(folder, 'migrations/gate');
  const now = readFileSync(join(migrations, '0001_gate.sql'), 'utf8');
  const [lookUp = ''] = /^CREATE FUNCTION look_up\([^]*?^END \$\$;$/m.exec(now) ?? [];
  expect(lookUp).toContain('gate.venues');
  const returning = lookUp
    .replace('venue_mac text)', 'venue_mac text, venue_next text)')
    .replace('v.mac', 'v.mac, v.next');
  expect(returning).toHaveLength(lookUp.length + ', venue_next text, v.next'.length);
  const columns = ['venues', 'api_keys', 'eligibility'].map((table) => `ALTER TABLE ${table} ADD COLUMN next text;`);
  const migration = ['-- Up Migration', ...columns, 'DROP FUNCTION look_up;', returning, ''];
  writeFileSync(join(migrations, `${nextNumber(migrations)}_next.sql`), migration.join('\n'));
  return folder;
}

const nextNumber = (folder: string): string =>
  String(Math.max(...readdirSync(folder).map((file) => Number.parseInt(file))) + 1).padStart(4, '0');

it('doors are let in all the time while the next version migrates, runs beside the old one, and replaces it', async () => {
  const at = (gate: Gateway) => ({ gate, key: setup.key });
  const { subjectRef } = await approvedSubject(setup);
  const answers = new Set<string>();
  let isOver = false;
  /** Keeps asking one gate, twice at once. */
  const doorsOf = (gate: Gateway) => {
    let asked = 0;
    const door = async () => {
      while (!isOver && gate.isRunning) {
        answers.add(await doorAnswer(at(gate), subjectRef));
        asked += 1;
      }
    };
    return { asked: () => asked, ended: Promise.all([door(), door()]) };
  };
  const old = doorsOf(setup.gate);
  await until(() => old.asked() > 50);
  const folder = nextVersion();
  const job = { MIGRATION_DATABASE_URL: postgres.url, DATABASE_URL: postgres.url };
  await runMigrations(job, 'case-gate', join(folder, 'migrate.js'));
  const atJob = old.asked();
  const next = await setup.another(join(folder, 'main.js'));
  await next.start();
  const young = doorsOf(next);
  await until(() => young.asked() > 50 && old.asked() > atJob + 50);
  // What either decides, the other lets in.
  for (const [decider, doors] of [
    [setup.gate, next],
    [next, setup.gate],
  ] as const) {
    const { subjectRef: decided } = await approvedSubject(at(decider));
    expect(await doorAnswer(at(doors), decided)).toBe('200 allow ELIGIBLE');
  }
  isOver = true;
  await Promise.all([old.ended, young.ended]);
  expect([...answers]).toEqual(['200 allow ELIGIBLE']);
  expect(await setup.gate.stop()).toBe(0);
  expect((await approvedSubject(at(next))).subjectRef).toMatch(/^subj_/);
  // The job of the old version changes nothing.
  await runMigrations(job, 'case-gate');
}, 120_000);
