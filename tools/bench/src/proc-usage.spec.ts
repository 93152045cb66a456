import { spawn } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { childrenOf, cpuMsOf, peakRssBytesOf } from './proc-usage.ts';

const self = { name: 'self', pid: process.pid };

describe('the usage of a process', () => {
  it('is known where the system reports it', () => {
    if (process.platform !== 'linux') return expect(cpuMsOf(self)).toBeUndefined();
    const { user, system } = process.cpuUsage();
    expect(Math.abs((cpuMsOf(self) ?? 0) - (user + system) / 1_000)).toBeLessThan(200);
    const ownMs = cpuMsOf(self) ?? 0; // Read first, because it keeps growing.
    expect(cpuMsOf({ ...self, family: true })).toBeGreaterThanOrEqual(ownMs);
    // The kernel updates it now and then.
    expect(peakRssBytesOf(process.pid)).toBeGreaterThan(0.9 * process.memoryUsage.rss());
  });

  it('includes the children of a process while they live', async () => {
    const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    expect(childrenOf(process.pid).includes(child.pid ?? 0)).toBe(process.platform === 'linux');
    child.stdin.end();
    await ended;
    expect(childrenOf(process.pid)).not.toContain(child.pid);
  });

  it('is unknown for a process that is gone', () => {
    expect(cpuMsOf({ name: 'gone', pid: 2 ** 30 })).toBeUndefined();
    expect(peakRssBytesOf(2 ** 30)).toBeUndefined();
  });
});
