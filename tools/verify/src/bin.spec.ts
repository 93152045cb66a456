import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { directoryOf, sampleLog } from './testing/sample-log.ts';

const BIN = join(import.meta.dirname, '../bin/sealgate-verify.mjs');
const log = sampleLog(3);
const directory = await directoryOf(
  new Map([
    ['proof.json', JSON.stringify(await log.proofOf(1))],
    ['log.vkey', log.key.verifierKey],
  ]),
);

/** Runs the command like a shell, optionally with a Node whose TypeScript support is disabled. */
function run(args: readonly string[], nodeArgs: readonly string[] = [], bin = BIN) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeArgs, bin, ...args], {
    cwd: directory,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
  return { status, stdout, stderr };
}

describe('the command', () => {
  it.each([
    ['a Node that runs TypeScript', []],
    ["an older one, by running the repository's Node", ['--no-experimental-strip-types']],
  ])('works under %s', (_, nodeArgs) => {
    const verified = run(['receipt', 'proof.json', '--key', 'log.vkey'], nodeArgs);
    expect(verified).toMatchObject({ status: 0, stderr: '' });
    expect(verified.stdout).toContain('VERIFIED. Record order-1');
    const stranger = sampleLog(1).key.verifierKey;
    expect(run(['receipt', 'proof.json', '--key', stranger], nodeArgs)).toMatchObject({ status: 1, stderr: '' });
    expect(run(['receipt', 'nowhere', '--key', 'log.vkey'], nodeArgs).status).toBe(2);
    expect(run(['--help'], nodeArgs).status).toBe(0);
  });

  it('prints its version', () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
      version: string;
    };
    expect(run(['--version'])).toEqual({ status: 0, stdout: `sealgate-verify ${version}\n`, stderr: '' });
  });

  (existsSync('/dev/full') ? it : it.skip)(
    'says in a sentence that its report cannot be written, and verifies nothing',
    () => {
      const full = openSync('/dev/full', 'w');
      const { status, stderr } = spawnSync(process.execPath, [BIN, 'receipt', 'proof.json', '--key', 'log.vkey'], {
        cwd: directory,
        stdio: ['ignore', full, 'pipe'],
        encoding: 'utf8',
      });
      closeSync(full);
      expect([status, stderr]).toEqual([2, 'sealgate-verify: standard output cannot be written: ENOSPC.\n']);
    },
  );

  it('works through a symlink, as created by package managers', async () => {
    const bin = join(directory, 'node_modules/.bin/sealgate-verify');
    await mkdir(join(directory, 'node_modules/.bin'), { recursive: true });
    await symlink(BIN, bin);
    expect(run(['receipt', 'proof.json', '--key', 'log.vkey'], [], bin).status).toBe(0);
  });
});
