import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ledgerGrantsOf } from '@sealgate/ledger-embedded';
import { runMigrations } from '@sealgate/service-host';
import { migrate, MigrationError } from '@sealgate/storage';
import { executeSql, throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { check, gateSite, sealedCase, SETUP_MS } from '../test/running-gate.ts';
import { fields, ledgerChannels } from './config.ts';
import { migrations, SCHEMA } from './gate-migrations.ts';

let server: ThrowawayPostgres;
let folder: string;
beforeAll(async () => {
  server = await throwawayPostgres();
  folder = mkdtempSync(join(tmpdir(), 'sealgate-role-'));
}, SETUP_MS);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const urlOf = (role: string): string => Object.assign(new URL(server.url), { username: role, password: 'p' }).href;

/** Creates a role and runs the migration job for it, as an operator does. */
async function accept(role: string): Promise<void> {
  await executeSql(server.url, `CREATE ROLE ${role} LOGIN PASSWORD 'p'`);
  const env = {
    MIGRATION_DATABASE_URL: server.url,
    DATABASE_URL: urlOf(role),
    LEDGER_ORIGIN: 'ledger.test',
    LEDGER_INTEGRATOR: 'true',
  };
  const rights = ledgerGrantsOf(SCHEMA, () => ledgerChannels(env));
  const output = { write: () => true };
  await runMigrations({
    sets: migrations,
    migrate,
    mendable: MigrationError,
    serviceFields: fields,
    rights,
    env,
    output,
  });
}

it('a database role and its password are rotated without a restart or a denied entry', async () => {
  const [first, second] = ['gate_role_a', 'gate_role_b'];
  const file = join(folder, 'url');
  await accept(first);
  writeFileSync(file, urlOf(first));
  const site = await gateSite({ DATABASE_URL: pathToFileURL(file).href }, server);
  const { key } = site;
  const { subjectRef } = await sealedCase(site, key);
  const answers = new Set<string>();
  let count = 0;
  let isStopped = false;
  const worker = async () => {
    for (; !isStopped; count += 1) answers.add(await check(site, key, subjectRef));
  };
  const workers = [worker(), worker(), worker()];
  const connectionsOf = async (role: string) => {
    const text = 'SELECT FROM pg_stat_activity WHERE usename = $1';
    return (await site.sql.query({ text, values: [role] })).length;
  };
  await until(() => count > 20);
  await accept(second);
  const before = count;
  await until(() => count > before + 20);
  expect([(await connectionsOf(first)) > 0, await connectionsOf(second)]).toEqual([true, 0]);
  writeFileSync(file, urlOf(second));
  await until(async () => (await connectionsOf(second)) > 0 && (await connectionsOf(first)) === 0, {
    timeoutMs: 60_000,
  });
  await executeSql(server.url, `DROP OWNED BY ${first}; DROP ROLE ${first}`);
  const after = count;
  await until(() => count > after + 20);
  // It also writes to the ledger and signs.
  const later = await sealedCase(site, key);
  expect(await check(site, key, later.subjectRef)).toBe('allow ELIGIBLE');
  isStopped = true;
  await Promise.all(workers);
  expect([...answers]).toEqual(['allow ELIGIBLE']);
  await site.stop();
}, 120_000);
