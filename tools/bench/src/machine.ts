import { execFileSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { arch, cpus, release, totalmem, type as systemName } from 'node:os';
import { join } from 'node:path';

/** The conditions of a run, needed to interpret its numbers. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
  /** When the run began, RFC 3339. */
  readonly date: string;
  /** The short hash, followed by `+` where the checkout has changes; "none" outside of git. */
  readonly commit: string;
  /** The median time of one small synced write to the disk. */
  readonly syncMs: number;
  /** The data is in memory, so nothing here is durable. */
  readonly inMemory: boolean;
}

export function describeMachine(options: { folder: string; checkout: string; now: () => number }): Machine {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGib: Math.round((totalmem() / 1024 ** 3) * 10) / 10,
    system: `${systemName()} ${release()} ${arch()}`,
    node: process.version,
    date: new Date(options.now()).toISOString(),
    commit: commitOf(options.checkout),
    syncMs: syncMsOf(options.folder),
    inMemory: memoryFilesystems.has(statfsSync(options.folder).type),
  };
}

/** The magic numbers of tmpfs and ramfs, from statfs(2). */
const memoryFilesystems = new Set([0x01021994, 0x858458f6]);

function commitOf(checkout: string): string {
  const git = (...parameters: string[]): string =>
    execFileSync('git', ['-C', checkout, ...parameters], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '+'}`;
  } catch {
    return 'none'; // No git, or no commit yet.
  }
}

const syncWrites = 51;
const pageBytes = 8_192;

function syncMsOf(folder: string): number {
  const file = join(folder, 'sync-probe');
  const handle = openSync(file, 'w');
  const page = Buffer.alloc(pageBytes, 1);
  const times: number[] = [];
  try {
    for (let write = 0; write < syncWrites; write += 1) {
      const startedAt = performance.now();
      writeSync(handle, page, 0, pageBytes, 0);
      fdatasyncSync(handle);
      times.push(performance.now() - startedAt);
    }
  } finally {
    closeSync(handle);
    rmSync(file, { force: true });
  }
  return times.sort((a, b) => a - b)[Math.floor(syncWrites / 2)] ?? 0;
}
