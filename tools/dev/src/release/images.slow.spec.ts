import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateDocumentKey } from '@sealgate/envelope';
import { generateNoteKey } from '@sealgate/merkle';
import { describeWithRedis, until } from '@sealgate/testing';
import { configuredSurfaces } from '../infra/config-tables.ts';
import { readProjectFile } from '../rules/project-files.ts';
import { freePortBase } from '../start/free-port-base.fixture.ts';
import { workspaceRoot } from '../workspace.ts';
import {
  bodyOf,
  BUDGET_MIB,
  bundledLock,
  type Container,
  IDLE_MIB,
  imageConfigOf,
  lend,
  makeCertificates,
  type Mount,
  READY_CPU_MS,
  startContainer,
  usageOf,
  whyNoContainers,
} from './container.fixture.ts';
import { encryptedStores, type EncryptedStores } from './encrypted-stores.fixture.ts';
import { imageNames } from './image-tree.ts';

const ORIGIN = 'ledger.example.com';
const image = imageConfigOf(readProjectFile('docker/Dockerfile'));
const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
const commit = 'c0ffee'.padEnd(40, '0');

let folder: string;
const treeOf = (name: string): string => join(folder, 'trees', name);

/** All files and folders of a tree, by their paths in it. */
const contentsOf = (tree: string) =>
  readdirSync(tree, { recursive: true, encoding: 'utf8' }).map((path) => ({ path, at: lstatSync(join(tree, path)) }));

/** With the command of docker/Dockerfile. */
function makeTree(name: string, tree: string) {
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(workspaceRoot, 'tools/dev/bootstrap.mjs'), 'image', name, tree],
    { encoding: 'utf8', env: { ...process.env, SEALGATE_COMMIT: commit }, timeout: 100_000 },
  );
  return { status, said: stderr };
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-images-'));
  for (const name of imageNames()) expect(makeTree(name, treeOf(name))).toMatchObject({ status: 0 });
}, 400_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(imageNames())('the image tree of %s', (name) => {
  it('contains the bundle and its files, and nothing that others may write or execute', () => {
    const contents = contentsOf(treeOf(name));
    const paths = contents.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['app/main.js', 'app/LICENSE', 'app/THIRD-PARTY-NOTICES.txt', 'app/sbom.cdx.json']),
    );
    expect(
      paths.filter((path) => /node_modules|package(-lock)?\.json$|\.tsx?$|\.env|(^|\/)\.(?!vite$)[^/]+$/.test(path)),
    ).toEqual([]);
    const modes = contents.filter(({ at }) => (at.mode & 0o7777) !== (at.isDirectory() ? 0o755 : 0o644));
    expect(modes.map(({ path }) => path)).toEqual([]);
    expect(contents.filter(({ at }) => !at.isFile() && !at.isDirectory())).toEqual([]);
  });

  it('stays within its size limit', () => {
    const bytes = contentsOf(treeOf(name)).reduce((sum, { at }) => sum + (at.isFile() ? at.size : 0), 0);
    const mib = bytes / 2 ** 20;
    process.stdout.write(`${name}: ${mib.toFixed(1)} MiB without the base image.\n`);
    expect(mib).toBeLessThanOrEqual(BUDGET_MIB[name] ?? 0);
    expect(mib).toBeGreaterThan((BUDGET_MIB[name] ?? 0) / 3);
  });

  it('has an SBOM with the digests of the lock file, without development packages', () => {
    const bill = JSON.parse(readFileSync(join(treeOf(name), 'app/sbom.cdx.json'), 'utf8')) as {
      readonly metadata: { readonly component: object };
      readonly components: readonly { readonly name: string; readonly version: string; readonly hashes?: object }[];
    };
    expect(bill.metadata.component).toMatchObject({ name, version });
    for (const { name: of, version: at, hashes } of bill.components)
      expect({ of, at, hashes }).toEqual({ of, at, hashes: bundledLock(of, at) });
  });
});

describe('the same tree', () => {
  it('is built from the same sources in any folder', () => {
    const other = join(folder, 'elsewhere/a/b');
    expect(makeTree('ledger-peer', other)).toMatchObject({ status: 0 });
    const sums = (tree: string) =>
      contentsOf(tree)
        .filter(({ at }) => at.isFile())
        .map(({ path }) => `${hash('sha256', readFileSync(join(tree, path)))} ${path}`)
        .toSorted();
    expect(sums(other)).toEqual(sums(treeOf('ledger-peer')));
    expect(makeTree('ledger-peer', other)).toMatchObject({ status: 1, said: expect.stringContaining('is not empty') });
    const wallet = makeTree('wallet', join(folder, 'x'));
    expect(wallet).toMatchObject({ status: 1, said: expect.stringContaining('Unknown image "wallet"') });
  }, 60_000);
});

const reason = whyNoContainers();
if (reason !== undefined) process.stderr.write(`SKIPPED: images are not started as in a container: ${reason}.\n`);

(reason === undefined ? describeWithRedis : describe.skip)('a container', () => {
  let stores: EncryptedStores | undefined;
  let common: Record<string, string>;
  let mounts: Mount[];
  const note = generateNoteKey(ORIGIN);
  const running: Container[] = [];
  const start = (name: string, options: Omit<Parameters<typeof startContainer>[0], 'tree' | 'image'>) => {
    const container = startContainer({ tree: treeOf(name), image, mounts, ...options });
    running.push(container);
    return container;
  };

  beforeAll(async () => {
    makeCertificates(folder);
    const lent = join(folder, 'certificates');
    mkdirSync(lent);
    for (const file of ['ca.crt', 'served.crt', 'served.key']) lend(join(folder, file), join(lent, file), image.user);
    writeFileSync(join(lent, 'mapping.json'), readProjectFile('apps/ledger-peer/demo/mapping.json'));
    const checkpoints = join(folder, 'checkpoints');
    mkdirSync(checkpoints);
    chownSync(checkpoints, image.user, image.user);
    mounts = [
      { from: lent, at: '/certificates', mode: 'ro' },
      { from: checkpoints, at: '/checkpoints', mode: 'rw' },
    ];

    stores = await encryptedStores(folder);
    common = {
      NODE_EXTRA_CA_CERTS: '/certificates/ca.crt',
      DATABASE_URL: stores.databaseUrl,
      REDIS_URL: stores.redisUrl,
      LEDGER_ORIGIN: ORIGIN,
      LEDGER_VERIFIER_KEYS: note.verifierKey,
      MIGRATION_DATABASE_URL: stores.migrationUrl,
      OIDC_ISSUER: stores.issuer,
      // Any response means that it is reachable.
      CONSOLE_SURFACES: JSON.stringify([{ id: 'case-gate', apiUrl: stores.issuer }]),
    };
  }, 120_000);
  afterAll(async () => {
    for (const container of running) {
      try {
        container.kill('SIGKILL');
      } catch {
        // It has exited.
      }
      await container.ended;
    }
    await stores?.stop();
  });

  const own: Readonly<Record<string, Record<string, string>>> = {
    'case-gate': { DOCUMENT_SIGNING_KEY: generateDocumentKey() },
    'ledger-peer': {
      API_KEY_HASHES: 'ab'.repeat(32),
      MAPPING_FILE: '/certificates/mapping.json',
      LEDGER_INTEGRATOR: 'true',
      LEDGER_SIGNING_KEY: note.privateKey,
      CHECKPOINT_DIR: '/checkpoints',
    },
    console: {
      OIDC_CLIENT_ID: 'console',
      PUBLIC_URL: 'https://console.example.com',
    },
  };

  /** Only variables that the program knows: it rejects unknown ones. */
  const envOf = (name: string, more: Record<string, string> = {}): Record<string, string> => {
    const known = configuredSurfaces.find(({ app }) => app === name)?.variables.map((variable) => variable.name) ?? [];
    const all = { ...common, SERVER_SECRETS: `s1:${'x'.repeat(43)}`, ...own[name], ...more };
    return Object.fromEntries(
      Object.entries(all).filter(([variable]) => known.includes(variable) || variable.startsWith('NODE_')),
    );
  };

  it.each(configuredSurfaces.map(({ app }) => app))(
    'of %s migrates, serves TLS as PID 1 under another user on a read-only tree, and exits on SIGTERM after its drain',
    async (name) => {
      const migration = envOf(name);
      if ('DATABASE_URL' in migration) {
        const job = start(name, { command: ['migrate.js'], env: migration });
        expect({ code: await job.ended, said: job.said() }).toMatchObject({ code: 0 });
      }
      const base = await freePortBase();
      const authority = readFileSync(join(folder, 'ca.crt'));
      const [open, ops] = [`https://127.0.0.1:${base}`, `http://127.0.0.1:${base + 1}`];
      const startedAt = performance.now();
      const container = start(name, {
        env: envOf(name, {
          MIGRATION_DATABASE_URL: '',
          HOST: '0.0.0.0',
          PORT: String(base),
          OPS_HOST: '0.0.0.0',
          OPS_PORT: String(base + 1),
          TLS_CERT_FILE: '/certificates/served.crt',
          TLS_KEY_FILE: '/certificates/served.key',
          DRAIN_DELAY_MS: '1500',
        }),
      });
      const status = async (url: string) => (await fetch(url, { signal: AbortSignal.timeout(2000) })).status;
      const ended = { code: null as number | null, is: false };
      void container.ended.then((code) => Object.assign(ended, { code, is: true }));
      await until(
        async () => {
          if (ended.is) throw new Error(container.said());
          return (await status(`${ops}/health/ready`)) === 200;
        },
        { timeoutMs: 60_000, what: `${name} to be ready` },
      ).catch((error: unknown) => {
        throw new Error(container.said(), { cause: error });
      });
      const readyMs = performance.now() - startedAt;
      const { cpuMs, mebibytes } = usageOf(container.pid());
      process.stdout.write(`${name}: ready after ${Math.round(readyMs)} ms, ${cpuMs} ms of CPU; ${mebibytes} MiB.\n`);
      // Wall time depends on other load; on an idle core it is slightly more than the CPU time.
      expect(cpuMs).toBeLessThanOrEqual(READY_CPU_MS);
      expect(mebibytes).toBeLessThanOrEqual(IDLE_MIB);
      expect(await (await fetch(`${ops}/version`)).json()).toMatchObject({ version, commit });
      // PID 1, under the user of the image, with no groups and no capabilities, and no way to gain any.
      const about = readFileSync(`/proc/${container.pid()}/status`, 'utf8');
      expect(about).toMatch(new RegExp(`^Uid:(\\t${image.user}){4}$`, 'm'));
      expect(about).toMatch(/^NSpid:\t\d+\t1$/m);
      expect(about).toMatch(/^CapEff:\t0+$/m);
      expect(about).toMatch(/^CapBnd:\t0+$/m);
      expect(about).toMatch(/^NoNewPrivs:\t1$/m);
      expect(await bodyOf(`${open}/api/helm-test`, authority)).toContain('urn:sealgate:problem:');
      container.kill('SIGTERM');
      await until(async () => (await status(`${ops}/health/ready`)) === 503);
      // Requests during the drain are still answered.
      expect(await bodyOf(`${open}/api/helm-test`, authority)).toContain('urn:sealgate:problem:');
      expect({ code: await container.ended, said: container.said() }).toMatchObject({ code: 0 });
    },
    180_000,
  );

  it('rejects a PostgreSQL certificate of an unknown CA', async () => {
    const { NODE_EXTRA_CA_CERTS: _left, ...env } = envOf('risk-partner');
    const job = start('risk-partner', { command: ['migrate.js'], env });
    expect(await job.ended).toBe(1);
    expect(job.said()).toMatch(/certificate/);
  }, 60_000);

  it('can only write to mounted folders', async () => {
    const script = `const { writeFileSync } = require('node:fs');
      const told = ['/x', '/app/x', '/app/main.js', '/tmp/x', '/etc/x', '/certificates/x', '/checkpoints/x'].map((path) => {
        try { writeFileSync(path, ''); return 'written'; } catch (error) { return error.code; }
      });
      console.log(told.join(' '));`;
    const container = start('ledger-peer', { command: ['-e', script] });
    expect(await container.ended).toBe(0);
    expect(container.said().trim()).toBe('EROFS EROFS EROFS EROFS EROFS EROFS written');
  }, 30_000);

  it('of the verifier follows a log until SIGTERM', async () => {
    writeFileSync(join(folder, 'certificates/log.vkey'), note.verifierKey);
    const port = (await freePortBase()) + 2;
    const monitor = start('verify', {
      command: [
        ...['main.js', 'monitor', 'http://127.0.0.1:9/ledger/demo.main', '--key', '/certificates/log.vkey'],
        ...['--state', '/checkpoints/seen.json', '--every', '3600', '--metrics-port', String(port)],
        ...['--metrics-host', '0.0.0.0'],
      ],
    });
    await until(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
      return (await answer.text()).includes('problem="unreachable"} 1');
    });
    await until(() => readFileSync(join(folder, 'checkpoints/seen.json'), 'utf8').includes('"v": 1'));
    monitor.kill('SIGTERM');
    // The exit code of a single round: the log could not be read.
    expect(await monitor.ended).toBe(2);
  }, 30_000);
});

it('has a size limit for every image, and no other', () => {
  expect(Object.keys(BUDGET_MIB).toSorted()).toEqual(imageNames());
});
