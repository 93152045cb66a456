import { spawn } from 'node:child_process';

/**
 * The shell blocks in `cat` until its standard input ends, which happens when the owner of the other end dies in any
 * way. Then it verifies that the pid still belongs to the server, kills it, and removes the folders. Nothing polls, and
 * a SIGKILL of the owner leaves nothing behind.
 */
const script = `
cat >/dev/null
pid=$1 mark=$2
shift 2
args=$(tr '\\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || ps -o args= -p "$pid" 2>/dev/null)
case "$args" in *"$mark"*) kill -QUIT "$pid" 2>/dev/null; sleep 0.3; kill -KILL "$pid" 2>/dev/null ;; esac
tries=0
until rm -rf -- "$@" 2>/dev/null || [ $tries -ge 20 ]; do sleep 0.1; tries=$((tries + 1)); done
`;

interface Guardian {
  /** Removes the guard: nothing is killed or deleted later. */
  dismiss(): void;
}

interface Guarded {
  readonly pid: number;
  /** A part of the server's command line, so that a reused pid is never signalled. */
  readonly mark: string;
  readonly folders: readonly string[];
}

/** Kills the server and removes its folders once this process is gone. */
export function guard({ pid, mark, folders }: Guarded): Guardian {
  const child = spawn('/bin/sh', ['-c', script, 'sealgate-guardian', String(pid), mark, ...folders], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  });
  child.on('error', () => undefined); // Without a shell there is no guard; then only stop() ends the server.
  child.stdin.on('error', () => undefined);
  child.unref();
  // The pipe of a child is a socket; the typings only declare a stream.
  if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref();
  return { dismiss: () => void child.kill('SIGKILL') };
}
