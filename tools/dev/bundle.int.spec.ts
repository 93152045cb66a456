import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { bundleSurface } from './bundle.ts';
import { generateClients } from './src/generate-clients.ts';
import { bundled } from './src/surfaces/bundled.ts';
import { appsWith, workspaceRoot } from './src/workspace.ts';

/** Everything that is bundled: the surfaces, and the contract, which is a service without a database. */
const surfaces = appsWith('src/main.ts');
const withMigrations = appsWith('src/migrate.ts');

const notSelfContained = /ERR_MODULE_NOT_FOUND|is not defined|is not a function/;

describe('the bundle of a surface', () => {
  it.each(surfaces)(
    '%s runs where nothing is installed, and brings its migrations',
    async (name) => {
      expect(
        await generateClients([name].filter((app) => appsWith('prisma/schema.prisma').includes(app))),
      ).toMatchObject({ ok: true });
      await bundleSurface(name);
      const dist = join(workspaceRoot, 'apps', name, 'dist');
      for (const set of withMigrations.includes(name) ? readdirSync(join(dist, 'migrations')) : []) {
        expect(readdirSync(join(dist, 'migrations', set))).toContainEqual(expect.stringMatching(/^0001_\w+\.sql$/));
      }
      // Without any setting it says which are missing, and does nothing else.
      for (const program of ['main.js', 'migrate.js'].filter((file) => existsSync(join(dist, file)))) {
        const ended = spawnSync(process.execPath, [join(dist, program)], {
          cwd: '/',
          env: {},
          encoding: 'utf8',
          timeout: 20_000,
        });
        expect({ program, status: ended.status }).toEqual({ program, status: 1 });
        expect(ended.stdout + ended.stderr).toMatch(withMigrations.includes(name) ? /DATABASE_URL/ : /CHAINCODE_ID/);
        expect(ended.stdout + ended.stderr).not.toMatch(notSelfContained);
      }
      // A thread's program finds all it needs too, and says that it is no program to start.
      for (const program of readdirSync(dist).filter((file) => file.endsWith('-worker.js'))) {
        const ended = spawnSync(process.execPath, [join(dist, program)], { cwd: '/', env: {}, encoding: 'utf8' });
        expect({ program, status: ended.status }).toEqual({ program, status: 1 });
        expect(ended.stderr).toMatch(/is a thread of main/);
        expect(ended.stderr).not.toMatch(notSelfContained);
      }
    },
    120_000,
  );

  it('is made again by a start only where a file of it has changed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealgate-bundle-'));
    const source = join(folder, 'source.ts');
    const { build } = bundled('ledger-chaincode');
    const place = join(folder, 'made');
    const bundle = async () => {
      await build(place);
      return statSync(place).ino;
    };
    try {
      const first = await bundle();
      expect(await bundle()).toBe(first);
      const madeOf = `${place}.made-of.json`;
      const stamps = JSON.parse(readFileSync(madeOf, 'utf8')) as Record<string, string>;
      expect(Object.keys(stamps)).toContain(join(workspaceRoot, 'apps/ledger-chaincode/src/main.ts'));
      writeFileSync(source, 'one');
      const { size, mtimeMs } = statSync(source);
      writeFileSync(madeOf, JSON.stringify({ ...stamps, [source]: `${size} ${mtimeMs}` }));
      expect(await bundle()).toBe(first);
      writeFileSync(source, 'another');
      const second = await bundle();
      expect(second).not.toBe(first);
      writeFileSync(madeOf, '{"cut');
      expect(await bundle()).not.toBe(second);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 60_000);

  it('is refused for what is no surface', async () => {
    await expect(bundleSurface('nowhere')).rejects.toThrow(
      'There is no surface nowhere: apps/nowhere/src/main.ts is missing.',
    );
  });
});
