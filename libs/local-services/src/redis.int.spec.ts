import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { describeWithRedis } from '@sealgate/testing';
import { findRedisServer, isPortFree, startRedis } from './index.ts';
import { commandLineOf } from './processes.ts';

const say = (port: number, text: string): Promise<string> =>
  new Promise((done, failed) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(text));
    socket.on('data', (chunk) => {
      done(chunk.toString('latin1'));
      socket.destroy();
    });
    socket.on('error', failed);
  });

describeWithRedis('startRedis', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'sealgate-redis-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it('requires the password, which is neither in its arguments nor in its log', async () => {
    const redis = await startRedis({ directory, args: ['--maxmemory', '2mb'], removeWithOwner: directory });
    // Without a user name `redis-cli -u` would take the password as the name.
    const { username, password } = new URL(redis.url);
    expect(username).toBe('default');
    expect(password.length).toBeGreaterThanOrEqual(32);
    expect(await say(redis.port, 'PING\r\n')).toMatch(/^-NOAUTH/);
    expect(await say(redis.port, `AUTH ${username} ${password}\r\n`)).toBe('+OK\r\n');
    expect(commandLineOf(redis.pid)).toContain('--maxmemory 2mb');
    expect(commandLineOf(redis.pid)).not.toContain(password);
    expect(readFileSync(join(directory, 'redis.log'), 'utf8')).not.toContain(password);
    await redis.stop();
    expect(await redis.exited).toBe(0);
    expect(await isPortFree(redis.port)).toBe(true);
  });

  it('returns the same URL for the same folder and port, and stops even when frozen', async () => {
    const first = await startRedis({ directory, removeWithOwner: directory });
    await first.stop();
    const second = await startRedis({ directory, port: first.port, removeWithOwner: directory });
    expect(second.url).toBe(first.url);
    process.kill(second.pid, 'SIGSTOP');
    await second.stop();
    expect(await second.exited).toBe(0);
  });

  it('reports a taken port and an unknown argument in one sentence each', async () => {
    const first = await startRedis({ directory, removeWithOwner: directory });
    await expect(startRedis({ directory, port: first.port })).rejects.toThrow(
      `The port ${first.port} is taken. Redis needs it.`,
    );
    await first.stop();
    await expect(startRedis({ directory, args: ['--no-such-setting', '1'] })).rejects.toThrow(
      /^Redis does not start on port \d+: /,
    );
  });
});

describe('findRedisServer', () => {
  it('returns the first executable redis-server on the PATH', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealgate-path-'));
    for (const [name, mode] of [
      ['plain', 0o644],
      ['program', 0o755],
    ] as const) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'redis-server'), '#!/bin/sh\n', { mode });
    }
    const path = ['/nowhere', '', join(folder, 'plain'), join(folder, 'program')].join(delimiter);
    expect(findRedisServer(path)).toBe(join(folder, 'program/redis-server'));
    rmSync(folder, { recursive: true });
  });
});
