import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openDatabase } from '@sealgate/storage';
import { seedBundles, throwawayPostgres, type OwnPostgres } from '@sealgate/testing';
import { codeBlocksOf } from '../rules/markdown.ts';
import { readProjectFile } from '../rules/project-files.ts';
import { freePortBase } from '../start/free-port-base.fixture.ts';
import { startSurface, waitUntilReady } from '../start/surface-process.ts';
import { workspaceRoot } from '../workspace.ts';
import { configuredSurfaces } from './config-tables.ts';

const install = readProjectFile('infra/operations/install-and-size.md');
const upgrade = readProjectFile('infra/operations/upgrade-and-downgrade.md');

const ORIGIN = 'ledger.example.com';
const surfaces = ['case-gate', 'ingest-gateway', 'ledger-peer', 'risk-partner'];
/** The names of the roles of each surface in the page. */
const shortNames: Readonly<Record<string, string>> = {
  'case-gate': 'gate',
  'ingest-gateway': 'ingest',
  'ledger-peer': 'peer',
  'risk-partner': 'risk',
};

let server: OwnPostgres;
let folder: string;
const dist = (surface: string): string => join(folder, 'bundles', surface);
const as = (role: string, database: string): string =>
  Object.assign(new URL(server.url), { username: role, password: 'change-me', pathname: `/${database}` }).href;

async function runSql(url: string, text: string): Promise<object[]> {
  const options = { applicationName: 'pages', maxConnections: 1, connectTimeoutMs: 5_000, deadlineMs: 20_000 };
  const database = openDatabase({ ...options, url });
  try {
    return await database.query({ text });
  } finally {
    await database.close();
  }
}

/** Runs statements of the page one by one. */
async function administer(database: string, text: string): Promise<void> {
  for (const statement of text.split(/;\n/).filter((one) => one.trim() !== ''))
    await runSql(as('administrator', database), statement);
}

/** The variables that decide the grants of a role in the ledger. */
function serviceEnv(surface: string): Record<string, string> {
  return {
    LEDGER_ORIGIN: ORIGIN,
    ...(surface === 'ledger-peer' ? { MAPPING_FILE: join(folder, 'mapping.json'), LEDGER_INTEGRATOR: 'true' } : {}),
  };
}

function migrate(surface: string, owner: string, database: string, from = dist(surface)) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(from, 'migrate.js')], {
    cwd: '/',
    encoding: 'utf8',
    timeout: 60_000,
    env: {
      MIGRATION_DATABASE_URL: as(owner, database),
      DATABASE_URL: as(`${shortNames[surface]}_app`, database),
      ...serviceEnv(surface),
    },
  });
  return { status, said: stdout + stderr };
}

/** The owners of the tables, sequences and functions of a schema. */
const ownersIn = (database: string, schema: string) =>
  runSql(
    Object.assign(new URL(server.url), { pathname: `/${database}` }).href,
    `SELECT DISTINCT pg_get_userbyid(owner) AS owner FROM (
       SELECT relowner AS owner FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relkind <> 'i'
       UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace = '${schema}'::regnamespace
       UNION ALL SELECT nspowner FROM pg_namespace WHERE nspname = '${schema}') every ORDER BY 1`,
  );

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-pages-'));
  cpSync(join(workspaceRoot, 'apps/ledger-peer/demo/mapping.json'), join(folder, 'mapping.json'));
  await seedBundles(workspaceRoot, folder);
  server = await throwawayPostgres({ own: true });
  // As the administrators of managed servers are: no superuser.
  await runSql(server.url, "CREATE ROLE administrator LOGIN CREATEROLE CREATEDB PASSWORD 'change-me'");
  const [roles = ''] = codeBlocksOf(install, 'sql');
  await administer('postgres', roles);
}, 240_000);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

describe('the installation page', () => {
  const made: Record<string, string> = {};

  it('creates roles with which every surface can migrate the shared ledger', async () => {
    const [, schema = ''] = codeBlocksOf(install, 'sql');
    await administer('sealgate', schema);
    // Twice: the second time each finds what the others have created.
    for (const surface of [...surfaces, ...surfaces])
      expect(migrate(surface, `${shortNames[surface]}_migrate`, 'sealgate')).toMatchObject({ status: 0 });
    expect(await ownersIn('sealgate', 'ledger')).toEqual([{ owner: 'sealgate_ledger' }]);
    expect(await ownersIn('sealgate', 'gate')).toEqual([{ owner: 'gate_migrate' }]);
  }, 120_000);

  it('creates secrets in the formats of the services', () => {
    const [shell = ''] = codeBlocksOf(install, 'sh');
    const commands = shell.split('\n').flatMap((line) => /^npx sealgate (secrets [^#]*)/.exec(line)?.[1] ?? []);
    for (const command of commands) {
      const parameters = [join(workspaceRoot, 'tools/admin/src/main.ts'), ...command.trim().split(/\s+/), '--json'];
      const { stdout, stderr } = spawnSync(process.execPath, parameters, { cwd: folder, encoding: 'utf8' });
      expect(stderr).toBe('');
      Object.assign(made, JSON.parse(stdout));
    }
    expect(Object.keys(made)).toEqual(
      expect.arrayContaining([
        ...['SERVER_SECRETS', 'ADMIN_TOKEN_HASHES', 'API_KEY_HASHES', 'DOCUMENT_SIGNING_KEY', 'password'],
        ...['LEDGER_SIGNING_KEY', 'LEDGER_VERIFIER_KEYS'],
      ]),
    );
  }, 60_000);

  it('ends with a peer as integrator, with roles that may not change tables', async () => {
    const base = await freePortBase();
    const peer = startSurface({
      name: 'ledger-peer',
      program: join(dist('ledger-peer'), 'main.js'),
      logFile: join(folder, 'peer.log'),
      env: {
        ...serviceEnv('ledger-peer'),
        ...Object.fromEntries(
          ['SERVER_SECRETS', 'API_KEY_HASHES', 'LEDGER_SIGNING_KEY'].map((name) => [name, made[name]!]),
        ),
        DATABASE_URL: as('peer_app', 'sealgate'),
        CHECKPOINT_DIR: join(folder, 'checkpoints'),
        PORT: String(base),
        OPS_PORT: String(base + 1),
      },
    });
    try {
      await waitUntilReady(peer, `http://127.0.0.1:${base + 1}`, AbortSignal.timeout(60_000));
      const answer = await fetch(`http://127.0.0.1:${base}/.well-known/jwks.json`);
      expect(await answer.json()).toMatchObject({ keys: [{ kty: 'OKP' }] });
    } finally {
      await peer.stop();
    }
    await expect(runSql(as('peer_app', 'sealgate'), 'CREATE TABLE peer.mine ()')).rejects.toThrow(/permission denied/);
  }, 120_000);

  it('mentions every required or secret variable', () => {
    const needed = configuredSurfaces.flatMap(({ variables }) =>
      variables.filter(({ isSecret, isRequired }) => isSecret || isRequired).map(({ name }) => name),
    );
    expect([...new Set(needed)].filter((name) => !install.includes(`\`${name}\``) && name !== 'MAPPING_FILE')).toEqual(
      [],
    );
  });
});

describe('the upgrade page', () => {
  it('lets a job of the previous version run later without changes', () => {
    const next = join(folder, 'next');
    cpSync(dist('ingest-gateway'), next, { recursive: true });
    const file = join(next, 'migrations/ledger/9998_next.sql');
    writeFileSync(file, '-- Up Migration\nALTER TABLE channels ADD COLUMN next int;\n');
    expect(migrate('ingest-gateway', 'ingest_migrate', 'sealgate', next)).toEqual({
      status: 0,
      said: 'ledger/ledger/9998_next\n',
    });
    expect(migrate('ingest-gateway', 'ingest_migrate', 'sealgate')).toEqual({
      status: 0,
      said: 'Everything is up to date.\n',
    });
  }, 60_000);

  it.each([
    ['case-gate', 'venues'],
    ['ingest-gateway', 'networks'],
    ['ledger-peer', 'jobs'],
    ['risk-partner', 'orgs'],
  ])(
    'lets the next version of %s add to its tables, beside the previous one',
    (surface, table) => {
      const name = shortNames[surface]!;
      const next = join(folder, `next-${surface}`);
      cpSync(dist(surface), next, { recursive: true });
      const text = `-- Up Migration\nALTER TABLE ${table} ADD COLUMN next int;\n`;
      writeFileSync(join(next, `migrations/${name}/0002_next.sql`), text);
      const run = (from?: string) => migrate(surface, `${name}_migrate`, 'sealgate', from);
      expect(run(next)).toEqual({ status: 0, said: `${name}/${name}/0002_next\n` });
      expect(run()).toEqual({ status: 0, said: 'Everything is up to date.\n' });
    },
    60_000,
  );

  it('has a job that refuses a database of a release candidate', async () => {
    const url = await server.newDatabase();
    const database = new URL(url).pathname.slice(1);
    await runSql(url, `GRANT CREATE ON DATABASE ${database} TO ingest_migrate`);
    expect(migrate('ingest-gateway', 'ingest_migrate', database)).toMatchObject({ status: 0 });
    await runSql(url, `INSERT INTO ledger.migrations_ledger (name, run_on) VALUES ('0002_append', now())`);
    expect(migrate('ingest-gateway', 'ingest_migrate', database)).toEqual({
      status: 1,
      said:
        'ingest-gateway migrate: The database was made by a release candidate, and nothing upgrades it: export what ' +
        'must stay with that version, and start with an empty database.\n',
    });
  }, 60_000);

  it('transfers objects owned by one role to the roles of a new installation', async () => {
    const admin = Object.assign(new URL(await server.newDatabase()));
    const database = admin.pathname.slice(1);
    await runSql(
      admin.href,
      `GRANT CREATE ON DATABASE ${database} TO risk_migrate, gate_migrate, peer_migrate, ingest_migrate`,
    );
    await runSql(admin.href, "CREATE ROLE one_for_all LOGIN PASSWORD 'change-me'");
    await runSql(admin.href, `GRANT CREATE ON DATABASE ${database} TO one_for_all`);
    for (const surface of surfaces) expect(migrate(surface, 'one_for_all', database)).toMatchObject({ status: 0 });
    const refused = migrate('case-gate', 'gate_migrate', database);
    expect(refused.status).toBe(1);
    expect(refused.said).toBe(
      'case-gate migrate: The schema "ledger" belongs to the role "one_for_all", for which "gate_migrate" may not act: run ' +
        'GRANT "one_for_all" TO "gate_migrate", or the job under that role.\n',
    );
    expect(migrate('case-gate', 'nobody', database).said).toMatch(
      /^case-gate migrate: The database of MIGRATION_DATABASE_URL cannot be used: [^\n]+\n$/,
    );
    const [hand = ''] = codeBlocksOf(upgrade, 'sql');
    await runSql(admin.href, hand);
    // Like a later version: a new ledger migration that replaces a function.
    const later = join(folder, 'later');
    cpSync(dist('case-gate'), later, { recursive: true });
    writeFileSync(
      join(later, 'migrations/ledger/9999_later.sql'),
      `-- Up Migration\nCREATE TABLE later (id int);\nALTER TABLE channels ADD COLUMN later int;\n`,
    );
    expect(migrate('case-gate', 'gate_migrate', database, later)).toMatchObject({ status: 0 });
    for (const surface of surfaces)
      expect(migrate(surface, `${shortNames[surface]}_migrate`, database)).toMatchObject({ status: 0 });
    expect(await ownersIn(database, 'ledger')).toEqual([{ owner: 'sealgate_ledger' }]);
    for (const name of Object.values(shortNames))
      expect(await ownersIn(database, name)).toEqual([{ owner: `${name}_migrate` }]);
  }, 120_000);
});
