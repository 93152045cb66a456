import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { ledgerFields, operatorFields, runMigrations, StartError, storeFields } from './index.ts';

const sets = [
  { schema: 'ledger', name: 'ledger' },
  { schema: 'desk', name: 'keys' },
  { schema: 'desk', name: 'desk' },
];
const owner = 'postgres://owner@db/x';

class Refused extends Error {}

async function run(env: Record<string, string>, applied: string[] = [], refusal?: Error) {
  const asked: object[] = [];
  const written: string[] = [];
  const migrate = (options: object) =>
    refusal === undefined ? Promise.resolve((asked.push(options), applied)) : Promise.reject(refusal);
  const serviceFields = { ...storeFields, ...ledgerFields, ...operatorFields };
  const rights = (order: object) => [order];
  const output = { write: (text: string) => written.push(text) };
  await runMigrations({ sets, migrate, mendable: Refused, serviceFields, rights, env, output });
  return { asked, written };
}

describe('the migration job', () => {
  it('grants each schema to the runtime role of the database URL', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'sealgate-url-')), 'url');
    writeFileSync(file, 'postgres://desk%40app:p@db/x\n');
    const inFile = await run({ MIGRATION_DATABASE_URL: owner, DATABASE_URL: pathToFileURL(file).href });
    const { asked } = await run({ MIGRATION_DATABASE_URL: owner, DATABASE_URL: 'postgres://desk%40app:p@db/x' });
    expect(inFile.asked).toEqual(asked);
    expect(asked).toMatchObject([{ url: owner, sets, runtimeRoles: { ledger: ['desk@app'], desk: ['desk@app'] } }]);
  });

  it('reads the role of a URL with several servers', async () => {
    const { asked } = await run({
      MIGRATION_DATABASE_URL: 'postgres://owner@h1:5432,h2:5432/x?target_session_attrs=read-write',
      DATABASE_URL: 'postgres://desk:p@h1:5432,h2:5432/x?target_session_attrs=read-write',
    });
    expect(asked).toMatchObject([{ runtimeRoles: { ledger: ['desk'], desk: ['desk'] } }]);
  });

  it("grants the operator's role only the ledger, and passes the roles to `rights`", async () => {
    const { asked, written } = await run({
      MIGRATION_DATABASE_URL: owner,
      DATABASE_URL: 'postgres://desk@db/x',
      ADMIN_DATABASE_URL: 'postgres://operator@db/x',
      LEDGER_ORIGIN: 'ledger.test',
      LEDGER_INTEGRATOR: 'true',
    });
    expect(asked).toEqual([
      {
        url: owner,
        sets,
        runtimeRoles: { ledger: ['desk', 'operator'], desk: ['desk'] },
        statements: [{ role: 'desk', adminRole: 'operator', integrates: true, knowsService: true }],
      },
    ]);
    expect(written).toEqual(['Everything is up to date.\n']);
  });

  it('warns if it does not know which channels the service uses', async () => {
    const { asked, written } = await run({ MIGRATION_DATABASE_URL: owner, DATABASE_URL: 'postgres://desk@db/x' });
    expect(asked).toMatchObject([{ statements: [{ role: 'desk', integrates: false, knowsService: false }] }]);
    expect(written[1]).toMatch(/desk may use every channel not owned by another surface/);
  });

  it.each<[string, Record<string, string>]>([
    ['no runtime role is given', {}],
    ['its URL has no user', { DATABASE_URL: 'postgres://db/x' }],
    ['the owner is the runtime role', { DATABASE_URL: 'postgres://owner:p@other/x' }],
  ])('grants nothing if %s', async (_what, more) => {
    const { asked } = await run({ MIGRATION_DATABASE_URL: owner, ...more });
    expect(asked).toMatchObject([{ url: owner, sets, runtimeRoles: {}, statements: [{ role: undefined }] }]);
  });

  it('prints what it applied, or that everything is up to date', async () => {
    const env = { MIGRATION_DATABASE_URL: owner };
    expect((await run(env, ['desk/keys/0001_a', 'desk/desk/0001_b'])).written).toEqual([
      'desk/keys/0001_a\ndesk/desk/0001_b\n',
    ]);
    expect((await run(env)).written).toEqual(['Everything is up to date.\n']);
  });

  it('turns errors that an operator can fix into StartErrors, and passes on bugs', async () => {
    const env = { MIGRATION_DATABASE_URL: owner };
    const told = run(env, [], new Refused('A grant is missing.'));
    await expect(told).rejects.toBeInstanceOf(StartError);
    await expect(told).rejects.toThrow('A grant is missing.');
    const bug = new Error('a bug');
    await expect(run(env, [], bug)).rejects.toBe(bug);
  });

  it('runs nothing if a variable is invalid', async () => {
    await expect(run({ DATABASE_URL: 'mysql://db/x' })).rejects.toThrow(
      /MIGRATION_DATABASE_URL: is required\n- DATABASE_URL: must/,
    );
  });
});
