import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly path: string;
  /** From now on nothing can be written on it. */
  makeReadOnly(): void;
  release(): void;
}

const mount = (...parameters: string[]): boolean =>
  spawnSync('mount', parameters, { stdio: 'ignore', timeout: 10_000 }).status === 0;

/**
 * A disk of that many mebibytes, for tests of what happens when one is full or read-only. Undefined where this user
 * may not mount one; it then says on standard error which test did not run, so that nobody takes it for passed.
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
    release: () => {
      spawnSync('umount', ['--lazy', path], { stdio: 'ignore', timeout: 10_000 });
      rmSync(path, { recursive: true, force: true });
    },
  };
}
