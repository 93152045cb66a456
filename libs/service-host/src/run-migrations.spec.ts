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
  it('grants each schema to the role of run time, as its address names it', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'sealgate-url-')), 'url');
    writeFileSync(file, 'postgres://desk%40app:p@db/x\n');
    const inFile = await run({ MIGRATION_DATABASE_URL: owner, DATABASE_URL: pathToFileURL(file).href });
    const { asked } = await run({ MIGRATION_DATABASE_URL: owner, DATABASE_URL: 'postgres://desk%40app:p@db/x' });
    expect(inFile.asked).toEqual(asked);
    expect(asked).toMatchObject([{ url: owner, sets, runtimeRoles: { ledger: ['desk@app'], desk: ['desk@app'] } }]);
  });

  it('reads the role also where the address names several servers', async () => {
    const { asked } = await run({
      MIGRATION_DATABASE_URL: 'postgres://owner@h1:5432,h2:5432/x?target_session_attrs=read-write',
      DATABASE_URL: 'postgres://desk:p@h1:5432,h2:5432/x?target_session_attrs=read-write',
    });
    expect(asked).toMatchObject([{ runtimeRoles: { ledger: ['desk'], desk: ['desk'] } }]);
  });

  it('gives the role of the operator the ledger alone, and says for whom rights are to be told', async () => {
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

  it('says where it was not told what the service uses in the ledger', async () => {
    const { asked, written } = await run({ MIGRATION_DATABASE_URL: owner, DATABASE_URL: 'postgres://desk@db/x' });
    expect(asked).toMatchObject([{ statements: [{ role: 'desk', integrates: false, knowsService: false }] }]);
    expect(written[1]).toMatch(/desk may use every channel that no other surface owns/);
  });

  it.each<[string, Record<string, string>]>([
    ['no role of run time is told', {}],
    ['its address names none', { DATABASE_URL: 'postgres://db/x' }],
    ['the owner is the role of run time', { DATABASE_URL: 'postgres://owner:p@other/x' }],
  ])('grants nothing where %s', async (_what, more) => {
    const { asked } = await run({ MIGRATION_DATABASE_URL: owner, ...more });
    expect(asked).toMatchObject([{ url: owner, sets, runtimeRoles: {}, statements: [{ role: undefined }] }]);
  });

  it('says what it ran, or that there was nothing to run', async () => {
    const env = { MIGRATION_DATABASE_URL: owner };
    expect((await run(env, ['desk/keys/0001_a', 'desk/desk/0001_b'])).written).toEqual([
      'desk/keys/0001_a\ndesk/desk/0001_b\n',
    ]);
    expect((await run(env)).written).toEqual(['Everything is up to date.\n']);
  });

  it('tells an operator what can be mended, and passes on what is a bug', async () => {
    const env = { MIGRATION_DATABASE_URL: owner };
    const told = run(env, [], new Refused('A grant is missing.'));
    await expect(told).rejects.toBeInstanceOf(StartError);
    await expect(told).rejects.toThrow('A grant is missing.');
    const bug = new Error('a bug');
    await expect(run(env, [], bug)).rejects.toBe(bug);
  });

  it('runs nothing where a variable is at fault', async () => {
    await expect(run({ DATABASE_URL: 'mysql://db/x' })).rejects.toThrow(
      /MIGRATION_DATABASE_URL: is required\n- DATABASE_URL: must/,
    );
  });
});
