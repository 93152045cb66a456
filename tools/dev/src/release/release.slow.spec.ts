import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateNoteKey, noteVerifier } from '@sealgate/merkle';
import { codeBlocksOf } from '../rules/markdown.ts';
import { readProjectFile } from '../rules/project-files.ts';
import { workspaceRoot } from '../workspace.ts';
import { describeWith } from '../infra/describe-with.fixture.ts';
import { imageNames } from './image-tree.ts';

const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
const commit = 'c0ffee'.padEnd(40, '0');
const key = generateNoteKey('example.com/releases');
const page = readProjectFile('infra/operations/release.md');
const bare = readProjectFile('infra/operations/install-from-a-release.md');

let folder: string;
const at = (...parts: string[]): string => join(folder, ...parts);

/** In a separate process: Vite, which builds the console's pages, does not run in this one. */
function make(output: string, signingKey: string | undefined): void {
  const program = `
    const { makeRelease } = await import('${join(workspaceRoot, 'tools/dev/src/release/make-release.ts')}');
    const { noteSigner } = await import('${join(workspaceRoot, 'libs/merkle/src/index.ts')}');
    const signer = process.env.KEY === undefined ? undefined : noteSigner(process.env.KEY);
    await makeRelease({ output: '${output}', signer, commit: '${commit}', committedSeconds: 1700000000 });`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: workspaceRoot,
    encoding: 'utf8',
    env: { ...process.env, ...(signingKey === undefined ? {} : { KEY: signingKey }) },
  });
  expect({ status, stderr }).toMatchObject({ status: 0 });
}

const shell = (script: string, cwd: string) => {
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', script], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}` },
  });
  return { status, stdout, stderr };
};
/** Relative paths resolve below our folder. */
const here = (script: string): string =>
  script.replaceAll('/tmp', at('unpacked')).replaceAll('/opt/sealgate', at('opt'));

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-release-'));
  make(at('signed'), key.privateKey);
  make(at('again'), undefined);
  for (const name of ['unpacked', 'opt']) mkdirSync(at(name));
  writeFileSync(at('release.vkey'), `${key.verifierKey}\n`);
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a release', () => {
  it('is reproducible, and signed if a key is given', () => {
    expect(readFileSync(at('again/SHA256SUMS'), 'utf8')).toBe(readFileSync(at('signed/SHA256SUMS'), 'utf8'));
    const note = readFileSync(at('signed/SHA256SUMS.note'), 'utf8');
    const text = readFileSync(at('signed/SHA256SUMS'), 'utf8');
    expect(noteVerifier(key.verifierKey).verify(note)).toEqual({ text });
    expect(readdirSync(at('again'))).not.toContain('SHA256SUMS.note');
    expect(readdirSync(at('again')).filter((name) => /^\d|\.\d+$/.test(name))).toEqual([]);
  });

  it('contains all parts in this version', () => {
    const parts = [...imageNames(), 'admin'].map((name) => `sealgate-${name}-${version}.tar.gz`);
    const bills = imageNames().map((name) => `sealgate-${name}-${version}.cdx.json`);
    const others = [`sealgate-${version}.tgz`, `sealgate-client-${version}.tgz`, `sealgate-docs-${version}.tar.gz`];
    const pages = [
      `sealgate-verify-${version}.html`,
      'RELEASE-NOTES.md',
      'Dockerfile',
      'SHA256SUMS',
      'SHA256SUMS.note',
    ];
    expect(readdirSync(at('signed')).toSorted()).toEqual([...parts, ...bills, ...others, ...pages].toSorted());
    expect(readFileSync(at('signed/RELEASE-NOTES.md'), 'utf8')).toMatch(`## [${version}]`);
    for (const name of imageNames())
      expect(shell(`tar -tzf sealgate-${name}-${version}.tar.gz`, at('signed')).stdout.split('\n')).toContain(
        'app/main.js',
      );
    const client = shell(`tar -xzOf sealgate-client-${version}.tgz package/package.json`, at('signed')).stdout;
    expect(JSON.parse(client)).toMatchObject({ name: '@sealgate/client', version });
    const dockerfile = readFileSync(at('signed/Dockerfile'), 'utf8');
    expect(dockerfile).toContain(`\nADD sealgate-\${SURFACE}-${version}.tar.gz /\n`);
    expect(dockerfile).toContain(`\nARG REVISION=${commit}\n`);
    expect(dockerfile.match(/^FROM .*$/gm)).toEqual(['FROM ${NODE_IMAGE}']);
  });

  it('can be verified as documented, with our verifier and with OpenSSL', () => {
    const [, byVerifier = '', byOpenssl = ''] = codeBlocksOf(page, 'sh');
    for (const script of [byVerifier, byOpenssl]) {
      const { status, stdout, stderr } = shell(here(script), at('signed'));
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/^VERIFIED|Signature Verified Successfully\n$/m);
    }
    appendFileSync(at('again', `sealgate-${version}.tgz`), 'x');
    writeFileSync(at('again/SHA256SUMS.note'), readFileSync(at('signed/SHA256SUMS.note')));
    for (const script of [byVerifier, byOpenssl]) expect(shell(here(script), at('again')).status).not.toBe(0);
  });

  it('can be installed on an empty machine as documented', () => {
    const [unpack = ''] = codeBlocksOf(bare, 'sh');
    expect(unpack).toContain(`-${version}.tar.gz`);
    const { status, stdout, stderr } = shell(here(unpack), at('signed'));
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(version);
    expect(stdout).toContain(commit);
    expect(stdout).toMatch(/SERVER_SECRETS +s-/);
  });
});

describe('the command', () => {
  const release = (...parameters: string[]) => {
    const program = [join(workspaceRoot, 'tools/dev/src/main.ts'), 'release', ...parameters];
    const { status, stderr } = spawnSync(process.execPath, program, { encoding: 'utf8', cwd: workspaceRoot });
    return { status, stderr };
  };

  it.each([
    ['nothing', [], 'Use either --key FILE or --unsigned'],
    ['both', ['--unsigned', '--key', 'x'], 'Use either --key FILE or --unsigned'],
    ['a missing file', ['--key', '/nowhere'], '/nowhere holds no key to sign with'],
    ['an unknown option', ['--sign'], "Unknown option '--sign'"],
  ])('rejects %s', (_what, parameters, said) => {
    expect(release(...parameters)).toMatchObject({ status: 1, stderr: expect.stringContaining(said) });
  });

  it('rejects a key that others can read, and an invalid one, without printing it', () => {
    writeFileSync(at('open.key'), key.privateKey, { mode: 0o644 });
    expect(release('--key', at('open.key')).stderr).toContain('can be read by other users');
    writeFileSync(at('broken.key'), key.privateKey.slice(0, -8), { mode: 0o600 });
    const { status, stderr } = release('--key', at('broken.key'));
    expect(status).toBe(1);
    expect(stderr).toContain('holds no key to sign with');
    expect(stderr).not.toContain(key.privateKey.slice(-40, -8));
  });
});

describeWith('helm', (helm) => {
  it('accepts the chart of the release, which has its commit', () => {
    const chart = at('signed', `sealgate-${version}.tgz`);
    expect(helm(['lint', chart, '-f', 'infra/helm/values/case-gate.yaml'])).toMatchObject({ ok: true });
    const { output } = helm([
      'template',
      'x',
      chart,
      '--kube-version',
      '1.31.0',
      '-f',
      'infra/helm/values/case-gate.yaml',
    ]);
    expect(output).toContain(`sealgate/revision: "${commit}"`);
    expect(output).toContain(`app.kubernetes.io/version: "${version}"`);
  });
});
