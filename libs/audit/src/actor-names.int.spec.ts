import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { actorNames } from './actor-names.ts';
import { auditMigrations } from './index.ts';

const EVE = 'oidc:https://sso.example.com#eve';

let server: ThrowawayPostgres;
let sql: Database;
const warned: object[] = [];
const log = { warn: (_event: string, fields: object = {}) => void warned.push(fields) };

beforeAll(async () => {
  server = await throwawayPostgres();
  await migrate({ url: server.url, sets: [auditMigrations('desk')] });
  const options = { applicationName: 'names-test', maxConnections: 4, connectTimeoutMs: 5_000, deadlineMs: 20_000 };
  sql = openDatabase({ ...options, url: server.url });
}, 120_000);
afterAll(async () => {
  await sql.close();
  await server.stop();
});

describe('names of actors', () => {
  it('are those that people came with last, of those that are asked for', async () => {
    const names = actorNames({ schema: 'desk', sql, log });
    names.note(EVE, 'Eve Müller');
    names.note('oidc:https://sso.example.com#bob', 'Bob');
    await until(async () => (await names.of(sql, [EVE, 'admin:1f2e3d4c']))[EVE] === 'Eve Müller');
    expect(await names.of(sql, [EVE, 'admin:1f2e3d4c'])).toEqual({ [EVE]: 'Eve Müller' });
    names.note(EVE, 'Eve Meier');
    await until(async () => (await names.of(sql, [EVE]))[EVE] === 'Eve Meier');
  });

  it('are written once by a process', async () => {
    let statements = 0;
    const counted = { query: () => Promise.resolve((statements++, [])) };
    const names = actorNames({ schema: 'desk', sql: counted, log });
    names.note(EVE, 'Eve Meier');
    names.note(EVE, 'Eve Meier');
    expect(statements).toBe(1);
    names.note(EVE, 'Eve Müller');
    expect(statements).toBe(2);
  });

  it('are written by the next sign-in where the database was away, and the request goes on', async () => {
    let isAway = true;
    const failing: Pick<Database, 'query'> = {
      query: (statement) => (isAway ? Promise.reject(new Error('away')) : sql.query(statement)),
    };
    const names = actorNames({ schema: 'desk', sql: failing, log });
    names.note(EVE, 'Eve Schulz');
    await until(() => warned.length === 1);
    expect(warned).toEqual([{ reason: 'Error: away' }]);
    isAway = false;
    names.note(EVE, 'Eve Schulz');
    await until(async () => (await names.of(sql, [EVE]))[EVE] === 'Eve Schulz');
  });
});
