import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isPortFree, removeCluster } from '@sealgate/local-services';
import { seedBundles } from '@sealgate/testing';
import type { Browser } from 'playwright-core';
import { windowsOf, type Windows } from './windows.ts';

/** The part of the machine-readable output of `npm start` that stories use. */
interface DevFile {
  readonly adminToken: string;
  readonly surfaces: Readonly<
    Record<string, { readonly url: string; readonly opsUrl: string; readonly adminUrl: string; readonly pid: number }>
  >;
  readonly console: { readonly url: string; readonly opsUrl: string; readonly pid: number };
  readonly ledger: { readonly verifierKey: string };
  readonly oidc: { readonly issuer: string; readonly audience: string };
  readonly demo: {
    readonly keys: Readonly<Record<string, string>>;
    readonly people: readonly { readonly role: string; readonly subject: string; readonly email: string }[];
    readonly networkId: string;
    readonly channel: string;
    readonly orgId: string;
    readonly venueId: string;
  };
}

/** The complete stack of `npm start`, and a browser. */
export interface ConsoleStack extends Windows {
  /** The console's URL, without a trailing slash. */
  readonly url: string;
  readonly dev: DevFile;
  /** The pid of `npm start` itself, which also runs the provider. */
  readonly providerPid: number;
  /** Folder of screenshots, for people to look at. */
  readonly pictures: string;
  stop(): Promise<void>;
}

const root = resolve(import.meta.dirname, '../../../..');
const START_WITHIN_MS = 300_000;
/** Ports of the public, ops and admin listeners, the provider, PostgreSQL and Redis. */
const OFFSETS = [1, 2, 3, 4, 5, 51, 52, 53, 54, 55, 80, 90, 91, 101, 102, 103, 104];

/** Runs `npm start -- --detach` with a folder and ports of its own. Rejects with its output where it fails. */
export async function startStack(browser: Browser): Promise<ConsoleStack> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-console-'));
  // When run as root, PostgreSQL runs as another user.
  chmodSync(folder, 0o755);
  const data = join(folder, 'data');
  const base = await freePortBase();
  const pictures = join(root, 'tmp/pictures');
  mkdirSync(pictures, { recursive: true });
  const stop = async (): Promise<void> => {
    await command('stop', '--data', data);
    removeCluster(join(data, 'postgres'));
    rmSync(folder, { recursive: true, force: true });
  };
  await seedBundles(root, data);
  try {
    await command('start', '--detach', '--data', data, '--port-base', String(base));
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  const dev = JSON.parse(readFileSync(join(data, 'dev.json'), 'utf8')) as DevFile;
  const { url } = dev.console;
  const { pid: providerPid } = JSON.parse(readFileSync(join(data, 'lock.json'), 'utf8')) as { pid: number };
  return { url, dev, providerPid, pictures, stop, ...windowsOf({ browser, url, people: dev.demo.people }) };
}

function command(...parameters: string[]): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [join(root, 'tools/dev/bootstrap.mjs'), ...parameters], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: START_WITHIN_MS,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-20_000)));
    child.on('error', fail);
    child.on('exit', (code) =>
      code === 0 ? done() : fail(new Error(`npm ${parameters[0]} ended with ${code}: ${said}`)),
    );
  });
}

async function freePortBase(): Promise<number> {
  for (;;) {
    const base = 10_100 + Math.floor(Math.random() * 150) * 120;
    const free = await Promise.all(OFFSETS.map((offset) => isPortFree(base + offset)));
    if (free.every(Boolean)) return base;
  }
}
