import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { commandNames, findFabricCommands } from './fabric-commands.ts';

const scratch = mkdtempSync(join(tmpdir(), 'sealgate-devnet-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function folderWith(names: readonly string[], mode = 0o755): string {
  const folder = mkdtempSync(join(scratch, 'bin-'));
  for (const name of names) writeFileSync(join(folder, name), '#!/bin/sh\n', { mode });
  return folder;
}

const [peer, ...others] = commandNames;
const without = { hasDocker: async () => false };
const withDocker = { hasDocker: async () => true };

describe("Fabric's commands", () => {
  it('are taken from FABRIC_BIN before the PATH', async () => {
    const [own, path] = [folderWith(commandNames), folderWith(commandNames)];
    const found = await findFabricCommands({ env: { FABRIC_BIN: own, PATH: path }, ...without });
    expect(found).toMatchObject({
      from: 'files',
      files: { peer: join(own, 'peer'), cryptogen: join(own, 'cryptogen') },
    });
  });

  it('may be in several folders of the PATH', async () => {
    const [first, second] = [folderWith([peer]), folderWith(others)];
    const found = await findFabricCommands({ env: { PATH: [first, second].join(delimiter) }, ...withDocker });
    expect(found).toMatchObject({
      from: 'files',
      files: { peer: join(first, 'peer'), orderer: join(second, 'orderer') },
    });
  });

  it('come from Docker if one is missing on the PATH and an engine answers', async () => {
    expect(await findFabricCommands({ env: { PATH: folderWith(others) }, ...withDocker })).toEqual({ from: 'docker' });
  });

  it('are listed if missing, with how to get them', async () => {
    await expect(findFabricCommands({ env: { PATH: folderWith(others) }, ...without })).rejects.toThrow(
      /^Fabric's commands \(peer\) are not on the PATH and no Docker engine answers\. .*FABRIC_BIN.*install-fabric\.sh/,
    );
  });

  it('are not replaced by an image if FABRIC_BIN lacks one', async () => {
    const own = folderWith(others);
    await expect(findFabricCommands({ env: { FABRIC_BIN: own }, ...withDocker })).rejects.toThrow(
      `FABRIC_BIN (${own}) lacks peer.`,
    );
  });

  it('must be executable', async () => {
    const own = folderWith(commandNames, 0o644);
    await expect(findFabricCommands({ env: { FABRIC_BIN: own }, ...without })).rejects.toThrow('lacks peer, orderer');
  });
});
