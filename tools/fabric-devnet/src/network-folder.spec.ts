import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyFolder, readMemory, takeFolder, writeMemory } from './network-folder.ts';

const memory = {
  portBase: 5000,
  batchTimeoutMs: 100,
  organizations: 3,
  mutualTls: true,
  inDocker: false,
  isComplete: true,
  programs: { records: '/contract/main.ts', token: '/bin/token' },
};

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'sealgate-devnet-'));
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

describe('the data folder of a network', () => {
  it('stores the settings of the network', () => {
    writeMemory(data, memory);
    expect(readMemory(data)).toEqual({ ...memory, format: 1 });
  });

  it('has no settings if there is no network', () => {
    expect(readMemory(join(data, 'absent'))).toBeUndefined();
  });

  it.each(['', '{', 'null', '[]', '{"format":1}', '{"format":1,"portBase":"4300"}', '{"format":2}'])(
    'says how to recover if network.json is %j',
    (text) => {
      writeFileSync(join(data, 'network.json'), text);
      expect(() => readMemory(data)).toThrow('npm run fabric:up -- --fresh');
    },
  );

  it('is created with its parents', () => {
    takeFolder(join(data, 'a/b'));
    expect(readdirSync(join(data, 'a/b'))).toEqual([]);
  });

  it('is rejected if it holds other files', () => {
    writeFileSync(join(data, 'thesis.txt'), '');
    expect(() => takeFolder(data)).toThrow(`${data} holds other files (thesis.txt).`);
    expect(existsSync(join(data, 'thesis.txt'))).toBe(true);
  });

  it('is rejected if it is a file', () => {
    writeFileSync(join(data, 'file'), '');
    expect(() => takeFolder(join(data, 'file/net'))).toThrow('is a file, not a folder');
  });

  it('is emptied except for the lock', () => {
    writeMemory(data, memory);
    for (const name of ['lock', 'connection.json']) writeFileSync(join(data, name), '');
    emptyFolder(data);
    expect(readdirSync(data)).toEqual(['lock']);
  });
});
