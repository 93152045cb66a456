import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { commandLineOf } from '@sealgate/local-services';
import { until } from '@sealgate/testing';
import { lockHolder, takeLock } from './lock.ts';

describe('the lock on the data', () => {
  let folder = '';
  let file = '';
  let other: ChildProcess | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-lock-'));
    file = join(folder, 'lock.json');
  });
  afterEach(() => {
    other?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** A process that lives, with those words on its command line. */
  const startOther = async (words: string): Promise<number> => {
    other = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)', words], { stdio: 'ignore' });
    const pid = other.pid ?? 0;
    await until(() => commandLineOf(pid).includes(words));
    return pid;
  };

  it('is taken, readable by nobody else, and let go', () => {
    const lock = takeLock(file, folder);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ pid: process.pid });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    lock.release();
    expect(existsSync(file)).toBe(false);
  });

  it('is refused while another start holds it', async () => {
    const pid = await startOther('/checkout/tools/dev/src/main.ts');
    writeFileSync(file, JSON.stringify({ pid }));
    expect(lockHolder(file)).toBe(pid);
    expect(() => takeLock(file, folder)).toThrow(
      `Sealgate already runs on ${folder} (process ${pid}). Stop it with \`npm stop\`, or choose another folder with --data.`,
    );
  });

  it('is taken over from a start that was killed, even when its id belongs to something else by now', async () => {
    const pid = await startOther('an-editor');
    writeFileSync(file, JSON.stringify({ pid }));
    expect(lockHolder(file)).toBeUndefined();
    takeLock(file, folder);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ pid: process.pid });
  });

  it.each(['', '{', '{"pid":"1"}', '{"pid":-1}', 'null'])('takes over one that was cut short: %j', (text) => {
    writeFileSync(file, text);
    takeLock(file, folder);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ pid: process.pid });
  });
});
