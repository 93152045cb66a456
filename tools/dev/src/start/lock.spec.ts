import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { commandLineOf, startOfProcess } from '@sealgate/local-services';
import { until } from '@sealgate/testing';
import { dataFolder } from './data-folder.ts';
import { lockHolder, takeLock, writeRunFile } from './lock.ts';

describe('the lock on the data folder', () => {
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

  /** Starts a process with those words on its command line. */
  const startOther = async (words: string): Promise<number> => {
    other = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)', words], { stdio: 'ignore' });
    const pid = other.pid ?? 0;
    await until(() => commandLineOf(pid).includes(words));
    return pid;
  };

  const ours = () => ({ pid: process.pid, started: startOfProcess(process.pid) });

  it('is created with mode 0600, and removed on release', () => {
    const lock = takeLock(dataFolder(folder));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ours());
    expect(statSync(file).mode & 0o777).toBe(0o600);
    lock.release();
    expect(existsSync(file)).toBe(false);
  });

  it('rejects a second start', async () => {
    const pid = await startOther('/checkout/tools/dev/src/main.ts');
    writeFileSync(file, JSON.stringify({ pid }));
    expect(lockHolder(file)).toBe(pid);
    expect(() => takeLock(dataFolder(folder))).toThrow(
      `Sealgate already runs on ${folder} (process ${pid}). Stop it with \`npm stop -- --data ${folder}\`, or choose another folder with --data.`,
    );
  });

  it('reports exited services with their logs, and how to restart them', async () => {
    const pid = await startOther('/checkout/tools/dev/src/main.ts');
    writeFileSync(file, JSON.stringify({ pid, started: startOfProcess(pid) }));
    const mark = '/checkout/tools/dev/src/main.ts';
    writeRunFile(dataFolder(folder), [
      { name: 'redis', pid, mark, logFile: '/logs/redis.log' },
      { name: 'ingest-gateway', pid, mark: 'no longer matches', logFile: '/logs/ingest-gateway.log' },
    ]);
    expect(() => takeLock(dataFolder(folder))).toThrow(
      `Sealgate already runs on ${folder} (process ${pid}), but ingest-gateway has exited since (its log is ` +
        `/logs/ingest-gateway.log). To restart it: \`npm stop -- --data ${folder}\`, then \`npm start -- --data ${folder}\`.`,
    );
  });

  it('replaces the lock of a killed start whose pid was reused by another start', async () => {
    const pid = await startOther('/checkout/tools/dev/src/main.ts');
    const started = startOfProcess(pid);
    writeFileSync(file, JSON.stringify({ pid, started }));
    expect(lockHolder(file)).toBe(pid);
    writeFileSync(file, JSON.stringify({ pid, started: `${started}0` }));
    expect(lockHolder(file)).toBeUndefined();
    takeLock(dataFolder(folder));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ours());
  });

  it('replaces the lock of a killed start whose pid was reused by another program', async () => {
    const pid = await startOther('an-editor');
    writeFileSync(file, JSON.stringify({ pid }));
    expect(lockHolder(file)).toBeUndefined();
    takeLock(dataFolder(folder));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ours());
  });

  it.each(['', '{', '{"pid":"1"}', '{"pid":-1}', 'null'])('replaces a truncated lock: %j', (text) => {
    writeFileSync(file, text);
    takeLock(dataFolder(folder));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ours());
  });
});
