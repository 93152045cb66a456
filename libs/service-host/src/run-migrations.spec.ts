import { describe, expect, it } from '@jest/globals';
import { runMigrations } from './index.ts';

const sets = [
  { schema: 'ledger', name: 'ledger' },
  { schema: 'desk', name: 'keys' },
  { schema: 'desk', name: 'desk' },
];
const owner = 'postgres://owner@db/x';

async function run(env: Record<string, string>, applied: string[] = []) {
  const asked: object[] = [];
  const written: string[] = [];
  const migrate = (options: object) => Promise.resolve((asked.push(options), applied));
  await runMigrations({ sets, migrate, env, output: { write: (text) => written.push(text) } });
  return { asked, written };
}

describe('the migration job', () => {
  it('grants each schema to the role of run time, as its address names it', async () => {
    const { asked } = await run({ MIGRATION_DATABASE_URL: owner, DATABASE_URL: 'postgres://desk%40app:p@db/x' });
    expect(asked).toEqual([{ url: owner, sets, runtimeRoles: { ledger: 'desk@app', desk: 'desk@app' } }]);
  });

  it.each<[string, Record<string, string>]>([
    ['no role of run time is told', {}],
    ['its address names none', { DATABASE_URL: 'postgres://db/x' }],
    ['the owner is the role of run time', { DATABASE_URL: 'postgres://owner:p@other/x' }],
  ])('grants nothing where %s', async (_what, more) => {
    const { asked } = await run({ MIGRATION_DATABASE_URL: owner, ...more });
    expect(asked).toEqual([{ url: owner, sets, runtimeRoles: {} }]);
  });

  it('says what it ran, or that there was nothing to run', async () => {
    const env = { MIGRATION_DATABASE_URL: owner };
    expect((await run(env, ['desk/keys/0001_a', 'desk/desk/0001_b'])).written).toEqual([
      'desk/keys/0001_a\ndesk/desk/0001_b\n',
    ]);
    expect((await run(env)).written).toEqual(['Everything is up to date.\n']);
  });

  it('runs nothing where a variable is at fault', async () => {
    await expect(run({ DATABASE_URL: 'mysql://db/x' })).rejects.toThrow(
      /MIGRATION_DATABASE_URL: is required\n- DATABASE_URL: must/,
    );
  });
});
