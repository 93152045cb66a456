import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Blocks until its input ends, which happens when this process dies in any way; then kills the child and removes the
 * folder.
 */
const script = 'cat >/dev/null; kill -KILL "$1" 2>/dev/null; rm -rf -- "$2"';

export interface Guarded {
  readonly child: ChildProcess;
  /** SIGKILL; waits until it is gone. */
  kill(): Promise<void>;
  /** The last part of its output. */
  written(): string;
}

/**
 * A child that ends with this process, even by SIGKILL, and does not keep it running. The folder of its log is removed.
 */
export function guardChild(child: ChildProcess, logFile: string): Guarded {
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const guard = spawn('/bin/sh', ['-c', script, 'sealgate-guard', String(child.pid), dirname(logFile)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  });
  guard.on('error', () => undefined); // Without a shell only kill() ends the child.
  guard.stdin.on('error', () => undefined);
  guard.unref();
  child.unref();
  // The pipe of a child is a socket; the typings only declare a stream.
  if ('unref' in guard.stdin && typeof guard.stdin.unref === 'function') guard.stdin.unref();
  child.once('error', () => resolve());
  child.once('exit', () => {
    guard.kill('SIGKILL'); // First: the pid may be reused from now on.
    resolve();
  });
  return {
    child,
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
        child.ref();
        child.kill('SIGKILL');
        await gone;
      }
    },
    written: () => readFileSync(logFile, 'utf8').slice(-2_000).trim(),
  };
}
