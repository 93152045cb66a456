import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';
import { hasFabricCommands } from './fabric-checks.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-commands-'));
const names = ['peer', 'orderer', 'configtxgen', 'cryptogen'];
for (const name of names) {
  writeFileSync(join(folder, name), '#!/bin/sh\n');
  chmodSync(join(folder, name), 0o755);
}
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the commands of Fabric', () => {
  it('are looked up in FABRIC_BIN if set, else on the PATH', () => {
    expect(hasFabricCommands({ FABRIC_BIN: folder, PATH: '/nowhere' })).toBe(true);
    expect(hasFabricCommands({ PATH: `/nowhere:${folder}` })).toBe(true);
    expect(hasFabricCommands({ FABRIC_BIN: '/nowhere', PATH: folder })).toBe(false);
    expect(hasFabricCommands({ PATH: '' })).toBe(false);
    expect(hasFabricCommands({})).toBe(false);
  });

  it('must all be present and executable', () => {
    chmodSync(join(folder, 'cryptogen'), 0o644);
    expect(hasFabricCommands({ FABRIC_BIN: folder })).toBe(false);
    chmodSync(join(folder, 'cryptogen'), 0o755);
  });
});

describe('npm run test:fabric', () => {
  const run = (env: Record<string, string>, ...parameters: string[]) =>
    spawnSync(process.execPath, [join(workspaceRoot, 'tools/dev/src/main.ts'), 'test:fabric', ...parameters], {
      env,
      encoding: 'utf8',
      timeout: 60_000,
    });

  it('exits with 2 and how to get the commands if they are missing', () => {
    const { status, stdout, stderr } = run({ FABRIC_BIN: '/nowhere', HOME: folder });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^FABRIC_BIN \(\/nowhere\) lacks peer, .*install-fabric\.sh[^\n]*\n$/);
  }, 70_000);

  it('takes no options', () => {
    const { status, stderr } = run({ HOME: folder }, '--quick');
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'test:fabric takes no options.\n' });
  }, 70_000);
});
