import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { bundleSurface } from './bundle.ts';
import { generateClients } from './src/generate-clients.ts';
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

  it('is refused for what is no surface', async () => {
    await expect(bundleSurface('nowhere')).rejects.toThrow(
      'There is no surface nowhere: apps/nowhere/src/main.ts is missing.',
    );
  });
});
