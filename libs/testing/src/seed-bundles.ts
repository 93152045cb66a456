import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isAlive } from '@sealgate/local-services';

const POLL_MS = 200;
const BUILD_WITHIN_MS = 600_000;

/**
 * Gives a data folder the bundles of `npm start`, so that a start finds nothing to build. They are kept in `tmp` of the
 * checkout for all test processes, and rebuilt where a source has changed.
 */
export async function seedBundles(checkout: string, data: string): Promise<void> {
  const kept = join(checkout, 'tmp/start-bundles');
  mkdirSync(kept, { recursive: true });
  await oneAtATime(`${kept}.lock`, async () => {
    const build = [join(checkout, 'tools/dev/bootstrap.mjs'), 'start-bundles', kept];
    await promisify(execFile)(process.execPath, build, { timeout: BUILD_WITHIN_MS });
    cpSync(kept, join(data, 'bundles'), { recursive: true, preserveTimestamps: true });
  });
}

/** Over all processes of the machine. The lock of a killed process is taken over. */
async function oneAtATime(lock: string, work: () => Promise<void>): Promise<void> {
  const holder = join(lock, 'pid');
  while (!isTaken(lock)) {
    if (!isHeld(holder)) rmSync(lock, { recursive: true, force: true });
    await delay(POLL_MS);
  }
  writeFileSync(holder, String(process.pid));
  try {
    await work();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

function isTaken(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false; // It is there.
  }
}

/** A lock without its file was taken a moment ago. */
function isHeld(holder: string): boolean {
  try {
    return isAlive(Number(readFileSync(holder, 'utf8')));
  } catch {
    return true;
  }
}
