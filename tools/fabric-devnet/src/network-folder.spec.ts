import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyFolder, readMemory, takeFolder, writeMemory } from './network-folder.ts';

const memory = {
  portBase: 5000,
  batchTimeoutMs: 100,
  inDocker: false,
  isComplete: true,
  programs: { records: '/contract/main.ts' },
};

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'sealgate-devnet-'));
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

describe('the folder of a network', () => {
  it('remembers what the network was made with', () => {
    writeMemory(data, memory);
    expect(readMemory(data)).toEqual({ ...memory, format: 1 });
  });

  it('remembers nothing where there is none', () => {
    expect(readMemory(join(data, 'absent'))).toBeUndefined();
  });

  it.each(['', '{', 'null', '[]', '{"format":1}', '{"format":1,"portBase":"4300"}', '{"format":2}'])(
    'says what helps where its memory is %j',
    (text) => {
      writeFileSync(join(data, 'network.json'), text);
      expect(() => readMemory(data)).toThrow('npm run fabric:up -- --fresh');
    },
  );

  it('is made where there is none, with its parents', () => {
    takeFolder(join(data, 'a/b'));
    expect(readdirSync(join(data, 'a/b'))).toEqual([]);
  });

  it('is not taken where something else lies', () => {
    writeFileSync(join(data, 'thesis.txt'), '');
    expect(() => takeFolder(data)).toThrow(`${data} holds something else (thesis.txt).`);
    expect(existsSync(join(data, 'thesis.txt'))).toBe(true);
  });

  it('is not a file', () => {
    writeFileSync(join(data, 'file'), '');
    expect(() => takeFolder(join(data, 'file/net'))).toThrow('is a file, not a folder');
  });

  it('is emptied of all but the lock', () => {
    writeMemory(data, memory);
    for (const name of ['lock', 'connection.json']) writeFileSync(join(data, name), '');
    emptyFolder(data);
    expect(readdirSync(data)).toEqual(['lock']);
  });
});
