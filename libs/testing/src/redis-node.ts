import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRedisServer, guard } from '@sealgate/local-services';
import { Redis } from 'ioredis';
import { until } from './until.ts';

/** A redis-server, or a sentinel, that speaks only TLS. */
export interface RedisNode {
  readonly port: number;
  readonly pid: number;
  /** A client of the user `default`, who may do everything; it reconnects. */
  readonly admin: Redis;
  /** Like a crash. */
  kill(): Promise<void>;
  /** After `kill`: at the same port, without data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** PEM: what an administrator connects with. */
export interface TlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

interface NodeOptions {
  readonly folder: string;
  readonly port: number;
  /** Further lines of the configuration file. */
  readonly lines: readonly string[];
  readonly password: string;
  readonly tls: TlsFiles;
  readonly isSentinel?: boolean;
}

const START_TIMEOUT_MS = 20_000;

/** It may rewrite its configuration file, as sentinels do. */
export async function startRedisNode(options: NodeOptions): Promise<RedisNode> {
  const { port, password, tls, isSentinel = false } = options;
  const program = findRedisServer();
  if (program === undefined) throw new Error('There is no redis-server.');
  const folder = mkdtempSync(join(options.folder, 'node-'));
  const file = join(folder, 'redis.conf');
  const lines = ['bind 127.0.0.1', `dir ${folder}`, 'port 0', `tls-port ${port}`, `requirepass ${password}`];
  writeFileSync(file, [...lines, ...options.lines, ''].join('\n'));
  const start = (): ChildProcess => {
    const child = spawn(program, [file, ...(isSentinel ? ['--sentinel'] : [])], { stdio: 'ignore' });
    child.unref();
    const guardian = guard({ pid: child.pid!, mark: folder, folders: [folder] });
    child.once('exit', () => guardian.dismiss());
    return child;
  };
  let child = start();
  const kill = async (): Promise<void> => {
    const ended = new Promise((done) => child.once('exit', done));
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended;
  };
  const admin = new Redis({ port, host: '127.0.0.1', password, tls, retryStrategy: () => 50 });
  admin.on('error', () => undefined);
  // ioredis listens once, and a TLS socket may fail twice.
  admin.on('connect', () => void admin.stream.on('error', () => undefined));
  const answers = () => until(async () => (await admin.ping()) === 'PONG', { timeoutMs: START_TIMEOUT_MS, what: file });
  await answers();
  return {
    port,
    admin,
    get pid() {
      return child.pid!;
    },
    kill,
    async restart() {
      child = start();
      await answers();
    },
    async stop() {
      admin.disconnect();
      await kill();
    },
  };
}
