import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { startOfProcess } from '@sealgate/local-services';
import { locked } from './network-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-devnet-'));
const lockFile = join(folder, 'lock');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the lock of a data folder', () => {
  it('is held during the work, and released if it throws', async () => {
    await expect(
      locked(lockFile, async () => {
        await expect(locked(lockFile, async () => 1)).rejects.toThrow(
          `Another fabric:up or fabric:down (process ${process.pid})`,
        );
        throw new Error('the work failed');
      }),
    ).rejects.toThrow('the work failed');
    expect(existsSync(lockFile)).toBe(false);
  });

  it.each([
    ['a dead process', JSON.stringify({ pid: 2 ** 22 + 1, started: '1' })],
    [
      'a process whose pid was reused',
      JSON.stringify({ pid: process.pid, started: `${startOfProcess(process.pid)}0` }),
    ],
    ['a truncated lock file', '{"pid":'],
  ])('is replaced after %s', async (_name, text) => {
    writeFileSync(lockFile, text);
    expect(await locked(lockFile, async () => 'done')).toBe('done');
  });
});
