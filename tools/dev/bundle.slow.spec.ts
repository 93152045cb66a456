import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { NODE_OPTIONS } from '@sealgate/service-host';
import { bundleSurface, type BundleEdit } from './bundle.ts';
import { bundled } from './src/surfaces/bundled.ts';
import { appsWith, workspaceRoot } from './src/workspace.ts';

/** All bundles: the surfaces, and the contract, which is a service without a database. */
const surfaces = appsWith('src/main.ts');
const withMigrations = appsWith('src/migrate.ts');

/** The required setting that a program without a database reports. */
const NEEDED: Readonly<Record<string, RegExp>> = { 'ledger-chaincode': /CHAINCODE_ID/, console: /OIDC_ISSUER/ };

const notSelfContained = /ERR_MODULE_NOT_FOUND|is not defined|is not a function/;

describe('the bundle of a surface', () => {
  beforeAll(() => {
    // In a separate process: Vite reads its configuration by imports that Jest's modules do not support.
    const program = [join(workspaceRoot, 'tools/dev/src/main.ts'), 'bundle', ...surfaces];
    const built = spawnSync(process.execPath, program, { encoding: 'utf8', timeout: 300_000 });
    expect({ status: built.status, said: built.stderr }).toMatchObject({ status: 0 });
  }, 310_000);

  it.each(surfaces)(
    '%s runs without installed packages, and contains its migrations',
    (name) => {
      const dist = join(workspaceRoot, 'apps', name, 'dist');
      for (const set of withMigrations.includes(name) ? readdirSync(join(dist, 'migrations')) : []) {
        expect(readdirSync(join(dist, 'migrations', set))).toContainEqual(expect.stringMatching(/^0001_\w+\.sql$/));
      }
      // Without settings it lists the missing ones, and exits.
      for (const program of ['main.js', 'migrate.js'].filter((file) => existsSync(join(dist, file)))) {
        const ended = spawnSync(process.execPath, [join(dist, program)], {
          cwd: '/',
          env: {},
          encoding: 'utf8',
          timeout: 20_000,
        });
        expect({ program, status: ended.status }).toEqual({ program, status: 1 });
        expect(ended.stdout + ended.stderr).toMatch(NEEDED[name] ?? /DATABASE_URL/);
        expect(ended.stdout + ended.stderr).not.toMatch(notSelfContained);
      }
      // A worker's program finds its imports too, and reports that it cannot be started directly.
      for (const program of readdirSync(dist).filter((file) => file.endsWith('-worker.js'))) {
        const parameters = [...NODE_OPTIONS, join(dist, program)];
        const ended = spawnSync(process.execPath, parameters, { cwd: '/', env: {}, encoding: 'utf8' });
        expect({ program, status: ended.status }).toEqual({ program, status: 1 });
        expect(ended.stderr).toMatch(/runs only as a worker thread of main/);
        expect(ended.stderr).toMatch(new RegExp(`apps/${name}/src/${program.replace('.js', '')}\\.ts:\\d+`));
        expect(ended.stderr).not.toMatch(notSelfContained);
      }
    },
    120_000,
  );

  it('is rebuilt by a start only if one of its files has changed', async () => {
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

  it('lists its packages with their licences, and contains no sources', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealgate-bundle-'));
    const dist = join(folder, 'dist');
    await bundleSurface('ingest-gateway', dist);
    const maps = readdirSync(dist).filter((file) => file.endsWith('.map'));
    expect(maps).toContain('main.js.map');
    for (const file of maps)
      expect(JSON.parse(readFileSync(join(dist, file), 'utf8'))).not.toHaveProperty('sourcesContent');
    const bill = JSON.parse(readFileSync(join(dist, 'sbom.cdx.json'), 'utf8')) as {
      readonly components: readonly {
        readonly name: string;
        readonly version: string;
        readonly licenses: readonly object[];
      }[];
    };
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' });
    const names = bill.components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['express', 'ioredis', 'pg', '@grpc/grpc-js']));
    // Packages used only by tests and tools are not deployed.
    expect(names).not.toEqual(expect.arrayContaining(['jest']));
    const notices = readFileSync(join(dist, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
    for (const { name, version, licenses } of bill.components) {
      expect(licenses).toHaveLength(1);
      expect(notices).toContain(`\n${name} ${version}, `);
    }
    expect(notices).toContain('Permission is hereby granted, free of charge');
    expect(readFileSync(join(dist, 'LICENSE'), 'utf8')).toContain('Apache License');
    rmSync(folder, { recursive: true });
  }, 60_000);

  it('of the console loads at most 150 KiB of script at first, other pages on demand, and verify.html nothing', () => {
    const web = join(workspaceRoot, 'apps/console/dist/web');
    const first = new Set<string>();
    for (const [, file = ''] of readFileSync(join(web, 'index.html'), 'utf8').matchAll(/="\/assets\/([^"]+\.js)"/g))
      addImports(join(web, 'assets'), file, first);
    const parts = readdirSync(join(web, 'assets')).filter((file) => /^[a-z]+-part-.*\.js$/.test(file));
    const sizes = parts.map((part) => {
      const whole = new Set<string>();
      addImports(join(web, 'assets'), part, whole);
      return {
        page: part.split('-')[0]!,
        KiB: gzippedKiB(join(web, 'assets'), new Set([...whole].filter((file) => !first.has(file)))),
      };
    });
    const firstKiB = gzippedKiB(join(web, 'assets'), first);
    process.stdout.write(`Script, gzipped: ${JSON.stringify([{ page: 'first', KiB: firstKiB }, ...sizes])}\n`);
    expect(firstKiB).toBeLessThanOrEqual(150);
    expect(firstKiB).toBeGreaterThan(50);
    expect(sizes.map(({ page }) => page).toSorted()).toEqual([
      'cases',
      'door',
      'events',
      'ledger',
      'log',
      'networks',
      'operations',
      'overview',
      'risks',
      'verify',
    ]);
    for (const { KiB } of sizes) expect(KiB).toBeLessThanOrEqual(150);
    const page = readFileSync(join(web, 'verify.html'), 'utf8');
    expect(page.match(/<(?:script|link|img)[^>]*(?:src|href)=/g)).toBeNull();
  });

  it('is built in a checkout without generated code', () => {
    // In the same file system as the packages, in a folder that Git and Jest ignore.
    mkdirSync(join(workspaceRoot, 'tmp'), { recursive: true });
    const checkout = mkdtempSync(join(workspaceRoot, 'tmp/checkout-'));
    try {
      const tracked = spawnSync('git', ['ls-files', '-z'], { cwd: workspaceRoot, encoding: 'utf8' }).stdout.split('\0');
      for (const file of tracked.filter((one) => one !== '' && existsSync(join(workspaceRoot, one)))) {
        cpSync(join(workspaceRoot, file), join(checkout, file));
      }
      // Hard links: the packages of the workspace are links relative to this folder.
      expect(spawnSync('cp', ['-al', join(workspaceRoot, 'node_modules'), checkout]).status).toBe(0);
      for (const name of ['console', 'risk-partner']) {
        const built = spawnSync(process.execPath, [join(checkout, 'tools/dev/src/main.ts'), 'bundle', name], {
          encoding: 'utf8',
          timeout: 100_000,
        });
        expect({ name, status: built.status, said: built.stderr }).toMatchObject({ status: 0 });
        expect(existsSync(join(checkout, 'apps', name, 'dist/main.js'))).toBe(true);
      }
    } finally {
      rmSync(checkout, { recursive: true, force: true });
    }
  }, 200_000);

  it('has one place of a source replaced, of code or SQL, and the sources stay as they are', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealgate-bundle-'));
    const edited = async (edit: BundleEdit): Promise<string> => {
      await bundleSurface('ledger-peer', folder, { edit });
      const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
        /\.(js|sql)$/.test(file),
      );
      return texts.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
    };
    const sql = 'apps/ledger-peer/prisma/migrations/0001_peer.sql';
    const before = readFileSync(join(workspaceRoot, sql), 'utf8');
    const code = { file: 'apps/ledger-peer/src/domain/deliver-events.ts', replace: '"planted"' };
    try {
      expect(
        await edited({ file: sql, find: 'CREATE TABLE subscriptions', replace: 'CREATE TABLE planted' }),
      ).toContain('CREATE TABLE planted');
      expect(readFileSync(join(workspaceRoot, sql), 'utf8')).toBe(before);
      expect(await edited({ ...code, find: "'secret_sealed'" })).toContain('"planted"');
      await expect(edited({ ...code, find: 'no such text' })).rejects.toThrow('does not have this once');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 120_000);

  it('rejects an unknown surface', async () => {
    await expect(bundleSurface('nowhere')).rejects.toThrow(
      'There is no surface nowhere: apps/nowhere/src/main.ts is missing.',
    );
  });
});

/** The chunks loaded together with one: its static imports, without dynamic imports. */
function addImports(assets: string, file: string, found: Set<string>): void {
  if (found.has(file)) return;
  found.add(file);
  const imported = readFileSync(join(assets, file), 'utf8').matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g);
  for (const [, next = ''] of imported) addImports(assets, next, found);
}

const gzippedKiB = (assets: string, files: ReadonlySet<string>): number =>
  Math.round([...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(assets, file))).length, 0) / 1024);
