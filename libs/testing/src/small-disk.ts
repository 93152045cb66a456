import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly path: string;
  /** Remounts it read-only. */
  makeReadOnly(): void;
  /** Makes it full, but for a few pages, without writing to it. */
  shrink(): void;
  /** Gives it its size again. */
  grow(): void;
  release(): void;
}

const mount = (...parameters: string[]): boolean =>
  spawnSync('mount', parameters, { stdio: 'ignore', timeout: 10_000 }).status === 0;

/** False where more lies in it: a tmpfs cannot get smaller. */
const resize = (path: string, size: string): boolean => mount('-o', `remount,size=${size}`, path);

function usedKibibytes(path: string): number {
  const { blocks, bfree, bsize } = statfsSync(path);
  return Math.ceil(((blocks - bfree) * bsize) / 1024);
}

/**
 * A tmpfs of that many mebibytes, for tests of a full or read-only disk. Undefined if this user may not mount one; then
 * standard error names the test that did not run, so that it is not taken for passed.
 */
export function smallDisk(sizeMebibytes: number, purpose: string): SmallDisk | undefined {
  const path = mkdtempSync(join(tmpdir(), 'sealgate-disk-'));
  chmodSync(path, 0o755);
  const options = `size=${sizeMebibytes}m,mode=755`;
  if (process.platform !== 'linux' || !mount('-t', 'tmpfs', '-o', options, 'tmpfs', path)) {
    rmSync(path, { recursive: true, force: true });
    process.stderr.write(`NOT TESTED: ${purpose}: this user may not mount a small disk.\n`);
    return undefined;
  }
  return {
    path,
    makeReadOnly: () => {
      if (!mount('-o', 'remount,ro', path)) throw new Error(`${path} could not be made read-only.`);
    },
    shrink: () => {
      // What is written meanwhile must fit, too.
      const isShrunk = [64, 1024, 4096, 16_384, 65_536].some((spare) =>
        resize(path, `${usedKibibytes(path) + spare}k`),
      );
      if (!isShrunk) throw new Error(`${path} could not be made full.`);
    },
    grow: () => {
      if (!resize(path, `${sizeMebibytes}m`)) throw new Error(`${path} could not be given its size again.`);
    },
    release: () => {
      spawnSync('umount', ['--lazy', path], { stdio: 'ignore', timeout: 10_000 });
      rmSync(path, { recursive: true, force: true });
    },
  };
}
