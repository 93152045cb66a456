import { spawn } from 'node:child_process';

/**
 * The shell sleeps in `cat` until its standard input ends, which happens when the process that holds the other end
 * dies, however it dies. Only then does it look whether the server is still the one it was given, ends it, and
 * removes the folder. Nothing polls, and a SIGKILL of the owner leaves nothing behind.
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

export interface Guardian {
  /** Takes the guard away: nothing is ended or removed any more. */
  dismiss(): void;
}

export interface Guarded {
  readonly pid: number;
  /** Occurs in the server's command line, so that a reused process id is never signalled. */
  readonly mark: string;
  readonly folders: readonly string[];
}

/** Ends the server and removes its folders once this process is gone. */
export function guard({ pid, mark, folders }: Guarded): Guardian {
  const child = spawn('/bin/sh', ['-c', script, 'sealgate-guardian', String(pid), mark, ...folders], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  });
  child.on('error', () => undefined); // Without a shell there is no guard; the server then ends by stop() alone.
  child.stdin.on('error', () => undefined);
  child.unref();
  // A pipe of a child is a socket in Node; typings only know the stream.
  if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref();
  return { dismiss: () => void child.kill('SIGKILL') };
}
