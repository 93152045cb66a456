import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { startOfProcess } from '@sealgate/local-services';
import { locked } from './lock.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-devnet-'));
const lockFile = join(folder, 'lock');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the lock of a network', () => {
  it('is held while the work lasts, and given back when it fails', async () => {
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
    ['a process that is gone', JSON.stringify({ pid: 2 ** 22 + 1, started: '1' })],
    ['one whose id another has now', JSON.stringify({ pid: process.pid, started: `${startOfProcess(process.pid)}0` })],
    ['one that was cut short', '{"pid":'],
  ])('is taken over from %s', async (_name, text) => {
    writeFileSync(lockFile, text);
    expect(await locked(lockFile, async () => 'done')).toBe('done');
  });
});
