import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { openBrowser } from './console/open-browser.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);
const storyTimeoutMs = 120_000;

/** A program of a user who has installed the package only: neither Node's types nor ours. */
const PROGRAM = `
import { checkRecord, ingestGateway, itemsOf, type ProvedRecord, type Schemas, UnprovedError } from '@sealgate/client';

declare const process: { readonly env: Readonly<Record<string, string>>; readonly argv: readonly string[] };
const { SEALGATE_URL = '', SEALGATE_KEY = '', SEALGATE_NETWORK = '' } = process.env;

export async function write(): Promise<Schemas['ingestGateway']['IngestAnswer']> {
  const gateway = ingestGateway({ baseUrl: SEALGATE_URL, headers: { 'X-Api-Key': SEALGATE_KEY } });
  const { data, error } = await gateway.POST('/{networkId}', {
    params: { path: { networkId: SEALGATE_NETWORK }, header: { 'Idempotency-Key': 'packed' } },
    body: { id: 'packed', type: 'order', data: { total: 12 } },
  });
  if (error !== undefined) throw new Error(error.code);
  if (!('records' in data)) throw new Error('no records');
  // @ts-expect-error: the gateway has no such path.
  void (() => gateway.GET('/nothing'));
  // @ts-expect-error: records have no such member.
  void data.records[0]?.nothing;
  return data;
}

export const check = (proved: ProvedRecord, key: string, total: number): Promise<string> =>
  checkRecord(proved, [key], { data: { total } }).then(
    () => 'VERIFIED',
    (error: unknown) => (error instanceof UnprovedError ? 'UNPROVED' : String(error)),
  );
void itemsOf;

const { records } = await write();
console.log(records.map(({ id }) => id).join());
`;

/** A program of a user of Jest or ts-node, which compile to CommonJS. */
const REQUIRING = `
import { ingestGateway, InexactNumberError, type Schemas } from '@sealgate/client';

declare const process: { readonly env: Readonly<Record<string, string>> };
const { SEALGATE_URL = '', SEALGATE_KEY = '', SEALGATE_NETWORK = '' } = process.env;

async function write(): Promise<Schemas['ingestGateway']['IngestAnswer']> {
  const gateway = ingestGateway({ baseUrl: SEALGATE_URL, headers: { 'X-Api-Key': SEALGATE_KEY } });
  const { data, error } = await gateway.POST('/{networkId}', {
    params: { path: { networkId: SEALGATE_NETWORK }, header: { 'Idempotency-Key': 'packed' } },
    body: { id: 'packed', type: 'order', data: { total: 12 } },
  });
  if (error !== undefined) throw new Error(error.code);
  if (!('records' in data)) throw new Error('no records');
  return data;
}

void write().then(({ records }) =>
  console.log(records.map(({ id }) => id).join(), InexactNumberError.prototype instanceof Error),
);
`;

const CHECK = `import { checkRecord, UnprovedError } from '@sealgate/client';
globalThis.check = (proved, key, total) => checkRecord(proved, [key], { data: { total } }).then(
  () => 'VERIFIED', (error) => error instanceof UnprovedError ? 'UNPROVED' : String(error));`;

/** The installation of the package alone, outside the checkout, so that no parent folder provides modules. */
let folder: string;
const packed = () => join(folder, 'node_modules/@sealgate/client');
let setup: ContractSetup;
let env: Record<string, string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-published-'));
  // In its own process: rollup loads its plugin by imports that Jest's module system cannot resolve.
  await run(process.execPath, ['--disable-warning=ExperimentalWarning', 'tools/dev/src/main.ts', 'bundle', 'client'], {
    cwd: root,
  });
  const npm = (...parameters: string[]) =>
    run('npm', [...parameters, '--offline', '--cache', join(folder, 'cache'), '--no-audit', '--no-fund'], {
      cwd: folder,
    });
  writeFileSync(join(folder, 'package.json'), '{"name": "consumer", "private": true, "type": "module"}');
  await npm('pack', join(root, 'libs/client/dist'), '--pack-destination', folder);
  const [tarball] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  await npm('install', `./${String(tarball)}`);
}, 2 * setupTimeoutMs);
beforeAll(async () => {
  setup = await sharedSetup();
  const SEALGATE_NETWORK = await setup.newNetwork();
  const { rawKey } = await setup.newKey(SEALGATE_NETWORK);
  env = { SEALGATE_URL: setup.gateway.public.origin, SEALGATE_KEY: rawKey, SEALGATE_NETWORK };
}, setupTimeoutMs);
afterAll(async () => {
  await setup.stop();
  rmSync(folder, { recursive: true, force: true });
}, setupTimeoutMs);

/** The proof of the program's record, once a checkpoint covers it. */
async function provedRecord(): Promise<unknown> {
  const path = `/ledger/channels/${env['SEALGATE_NETWORK']!}.main/records/packed/proof`;
  await until(async () => (await setup.admin.get(path)).status === 200, { timeoutMs: 30_000, what: 'a proof' });
  return setup.admin.ask('GET', path);
}

/** Compiles the program as a user does, with types checked in full. Rejects with tsc's output. */
async function compile(module: string, moduleResolution: string): Promise<string> {
  const outDir = join(folder, moduleResolution);
  writeFileSync(join(folder, 'program.ts'), PROGRAM);
  const options = {
    module,
    moduleResolution,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    types: [],
    strict: true,
    outDir,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['program.ts'] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', folder], { cwd: folder }).catch((error: { stdout: string }) => {
    throw new Error(error.stdout);
  });
  return join(outDir, 'program.js');
}

describe('the published client', () => {
  it('is a module for Node, one for browsers, one for require, and their types, and needs no other package', () => {
    const names = [
      'LICENSE',
      'README.md',
      'THIRD-PARTY-NOTICES.txt',
      'browser.js',
      'index.cjs',
      'index.d.cts',
      'index.d.ts',
      'index.js',
      'package.json',
      'sbom.cdx.json',
    ];
    expect(readdirSync(packed()).sort()).toEqual(names);
    const own = JSON.parse(readFileSync(join(packed(), 'package.json'), 'utf8')) as Record<string, unknown>;
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(own).toMatchObject({ name: '@sealgate/client', version, license: 'Apache-2.0', sideEffects: false });
    expect(Object.keys(own).filter((name) => /dependencies|scripts|private/i.test(name))).toEqual([]);
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@sealgate']);
    for (const name of ['browser.js', 'index.cjs', 'index.d.cts', 'index.d.ts', 'index.js']) {
      const text = readFileSync(join(packed(), name), 'utf8');
      expect([name, /@sealgate\/|\.\.\/|\blibs\/|\bapps\//.exec(text)?.[0]]).toEqual([name, undefined]);
    }
    expect(readFileSync(join(packed(), 'browser.js'), 'utf8')).not.toMatch(/\bfrom ?["']|\bimport ?["'(]/);
    const notices = readFileSync(join(packed(), 'THIRD-PARTY-NOTICES.txt'), 'utf8');
    for (const name of ['openapi-fetch', '@noble/hashes']) expect(notices).toContain(`\n${name} `);
  });

  it.each([
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ])(
    'compiles as %s with the resolution %s, and writes a record that its check then proves',
    async (module, resolution) => {
      const program = await compile(module, resolution);
      const { stdout } = await run(process.execPath, [program], { cwd: folder, env });
      expect(stdout).toBe('packed\n');
      const proof = join(folder, 'proof.json');
      writeFileSync(proof, JSON.stringify(await provedRecord()));
      const judge = `import { readFileSync } from 'node:fs';
import { check } from ${JSON.stringify(program)};
for (const total of [12, 13]) console.log(await check(JSON.parse(readFileSync('proof.json')), process.argv[1], total));`;
      const judged = await run(process.execPath, ['--input-type=module', '-e', judge, '--', setup.verifierKey], {
        cwd: folder,
        env,
      });
      expect(judged.stdout).toBe('packed\nVERIFIED\nUNPROVED\n');
    },
    storyTimeoutMs,
  );

  it.each([
    ['nodenext', 'nodenext'],
    ['commonjs', 'node10'],
    ['commonjs', 'bundler'],
  ])(
    'is required by CommonJS compiled as %s with the resolution %s, where require takes no ES module',
    async (module, moduleResolution) => {
      const place = join(folder, `required-${moduleResolution}`);
      mkdirSync(place, { recursive: true });
      writeFileSync(join(place, 'package.json'), '{"type": "commonjs"}');
      writeFileSync(join(place, 'program.ts'), REQUIRING);
      const options = {
        module,
        moduleResolution,
        ignoreDeprecations: '6.0',
        target: 'es2022',
        strict: true,
        types: [],
      };
      const compilerOptions = { ...options, lib: ['es2022', 'dom', 'dom.iterable'] };
      writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
      const tsc = join(root, 'node_modules/typescript/bin/tsc');
      await run(process.execPath, [tsc, '-p', place], { cwd: place }).catch((error: { stdout: string }) => {
        throw new Error(error.stdout);
      });
      // Node 20 has no require of ES modules, and neither has Jest.
      const parameters = ['--no-experimental-require-module', join(place, 'program.js')];
      const { stdout } = await run(process.execPath, parameters, { cwd: place, env });
      expect(stdout).toBe('packed true\n');
    },
    storyTimeoutMs,
  );

  it(
    'verifies a record in a browser, from the file that bundlers select for it',
    async () => {
      const proved = await provedRecord();
      const opened = await openBrowser();
      if ('problem' in opened) {
        if (process.env['CI'] === 'true') throw new Error(opened.problem);
        process.stderr.write(`SKIPPED: the published client in a browser. ${opened.problem}\n`);
        return;
      }
      const server = await pages({
        '/': [
          'text/html',
          '<script type="importmap">{"imports":{"@sealgate/client":"/browser.js"}}</script><script type="module" src="/check.js"></script>',
        ],
        '/check.js': ['text/javascript', CHECK],
        '/browser.js': ['text/javascript', readFileSync(join(packed(), 'browser.js'), 'utf8')],
      });
      try {
        const page = await opened.browser.newPage();
        await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
        await page.waitForFunction('typeof check === "function"');
        const said = [12, 13].map((total) =>
          page.evaluate(`check(${JSON.stringify(proved)}, ${JSON.stringify(setup.verifierKey)}, ${total})`),
        );
        expect(await Promise.all(said)).toEqual(['VERIFIED', 'UNPROVED']);
      } finally {
        await opened.browser.close();
        server.close();
      }
    },
    storyTimeoutMs,
  );
});

/** A page and its scripts, as on a third-party site. */
async function pages(files: Readonly<Record<string, readonly [type: string, text: string]>>): Promise<Server> {
  const server = createServer((request, response) => {
    const [type, text] = files[request.url ?? ''] ?? ['text/plain', ''];
    response.setHeader('content-type', type).end(text);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return server;
}
