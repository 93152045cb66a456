import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isAlive, startOfProcess } from '@sealgate/local-services';
import { nodeProcesses, type NodeProcesses, type ProcessSpec } from './node-processes.ts';

const sleeper: ProcessSpec = {
  role: 'orderer',
  program: process.execPath,
  parameters: ['-e', 'console.log("it says this"); setInterval(() => {}, 1000)'],
  env: {},
};

let data: string;
let processes: NodeProcesses;
const pidFile = (): string => join(data, 'run/orderer.pid');

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'sealgate-devnet-'));
  processes = nodeProcesses({ run: join(data, 'run'), logs: join(data, 'logs') });
});
afterEach(async () => {
  await processes.kill('orderer');
  rmSync(data, { recursive: true, force: true });
});

describe('a process of the network', () => {
  it('is started once, found by other commands, and stopped', async () => {
    processes.start(sleeper);
    processes.start(sleeper);
    const pid = nodeProcesses({ run: join(data, 'run'), logs: join(data, 'logs') }).pidOf('orderer');
    expect(pid).toBeGreaterThan(1);
    expect(processes.pidOf('orderer')).toBe(pid);
    expect(await processes.end('orderer')).toBe(true);
    expect(isAlive(pid!)).toBe(false);
    expect(await processes.end('orderer')).toBe(false);
  });

  it('is found without a pid file, as after a start that was killed before it wrote one', async () => {
    processes.start(sleeper);
    const pid = processes.pidOf('orderer');
    rmSync(pidFile());
    expect(processes.pidOf('orderer')).toBe(pid);
    expect(await processes.end('orderer')).toBe(true);
  });

  it('is not confused with another process whose pid is in the pid file', async () => {
    processes.start(sleeper);
    await processes.kill('orderer');
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    try {
      writeFileSync(pidFile(), JSON.stringify({ pid: stranger.pid, started: startOfProcess(stranger.pid!) }));
      expect(processes.pidOf('orderer')).toBeUndefined();
      expect(await processes.end('orderer')).toBe(false);
      expect(isAlive(stranger.pid!)).toBe(true);
    } finally {
      stranger.kill('SIGKILL');
    }
  });

  it('can be stopped while frozen', async () => {
    processes.start(sleeper);
    processes.signal('orderer', 'SIGSTOP');
    expect(await processes.end('orderer')).toBe(true);
  });

  it('cannot be signalled while not running', () => {
    expect(() => processes.signal('orderer', 'SIGSTOP')).toThrow('orderer is not running.');
  });

  it('reports a missing program', () => {
    expect(() => processes.start({ ...sleeper, program: join(data, 'absent') })).toThrow('could not be started');
  });

  it('keeps the log of its previous run', async () => {
    const said = (file: string): boolean => existsSync(file) && readFileSync(file, 'utf8').includes('it says this');
    processes.start(sleeper);
    while (!said(processes.logFile('orderer'))) await setTimeout(10);
    await processes.kill('orderer');
    processes.start({ ...sleeper, parameters: ['-e', ''] });
    expect(said(`${processes.logFile('orderer')}.1`)).toBe(true);
    expect(said(processes.logFile('orderer'))).toBe(false);
  });
});
