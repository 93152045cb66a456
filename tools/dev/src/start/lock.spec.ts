import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { commandLineOf, startOfProcess } from '@sealgate/local-services';
import { until } from '@sealgate/testing';
import { dataFolder } from './data-folder.ts';
import { lockHolder, takeLock } from './lock.ts';
import { writeRunFile } from './run-file.ts';

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

  const ours = () => ({ pid: process.pid, started: startOfProcess(process.pid) });

  it('is taken, readable by nobody else, and let go', () => {
    const lock = takeLock(dataFolder(folder));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ours());
    expect(statSync(file).mode & 0o777).toBe(0o600);
    lock.release();
    expect(existsSync(file)).toBe(false);
  });

  it('is refused while another start holds it', async () => {
    const pid = await startOther('/checkout/tools/dev/src/main.ts');
    writeFileSync(file, JSON.stringify({ pid }));
    expect(lockHolder(file)).toBe(pid);
    expect(() => takeLock(dataFolder(folder))).toThrow(
      `Sealgate already runs on ${folder} (process ${pid}). Stop it with \`npm stop -- --data ${folder}\`, or choose another folder with --data.`,
    );
  });

  it('says what has ended since, where its log is, and what brings it back', async () => {
    const pid = await startOther('/checkout/tools/dev/src/main.ts');
    writeFileSync(file, JSON.stringify({ pid, started: startOfProcess(pid) }));
    const mark = '/checkout/tools/dev/src/main.ts';
    writeRunFile(dataFolder(folder), [
      { name: 'redis', pid, mark, logFile: '/logs/redis.log' },
      { name: 'ingest-gateway', pid, mark: 'what it no longer is', logFile: '/logs/ingest-gateway.log' },
    ]);
    expect(() => takeLock(dataFolder(folder))).toThrow(
      `Sealgate already runs on ${folder} (process ${pid}), but ingest-gateway has ended since (its log is ` +
        `/logs/ingest-gateway.log). \`npm stop -- --data ${folder}\`, then \`npm start -- --data ${folder}\`, brings it back.`,
    );
  });

  it('is taken over from a start that was killed, even when its id belongs to another start by now', async () => {
    const pid = await startOther('/checkout/tools/dev/src/main.ts');
    const started = startOfProcess(pid);
    writeFileSync(file, JSON.stringify({ pid, started }));
    expect(lockHolder(file)).toBe(pid);
    writeFileSync(file, JSON.stringify({ pid, started: `${started}0` }));
    expect(lockHolder(file)).toBeUndefined();
    takeLock(dataFolder(folder));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ours());
  });

  it('is taken over from a start that was killed, even when its id belongs to something else by now', async () => {
    const pid = await startOther('an-editor');
    writeFileSync(file, JSON.stringify({ pid }));
    expect(lockHolder(file)).toBeUndefined();
    takeLock(dataFolder(folder));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ours());
  });

  it.each(['', '{', '{"pid":"1"}', '{"pid":-1}', 'null'])('takes over one that was cut short: %j', (text) => {
    writeFileSync(file, text);
    takeLock(dataFolder(folder));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ours());
  });
});
