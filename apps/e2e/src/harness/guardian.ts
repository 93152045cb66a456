import { spawn, type ChildProcess } from 'node:child_process';

/** Kills the registered processes once its parent is gone: a killed process cannot end its children itself. */
const program = `
const known = new Set();
let rest = '';
process.on('SIGINT', () => undefined).on('SIGTERM', () => undefined);
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) line[0] === '+' ? known.add(line.slice(1)) : known.delete(line.slice(1));
});
process.stdin.on('end', () => {
  for (const pid of known) try { process.kill(Number(pid), 'SIGKILL'); } catch {}
});
`;

let guardian: ChildProcess | undefined;
let guarded = 0;

/** Ensures that the process ends when this one is gone, even by SIGKILL. It may also end by itself before. */
export function guard(child: ChildProcess): void {
  child.once('exit', guardPid(child.pid!));
}

/** The same for a process that another one started, such as a server under a supervisor. Call the result once it ended. */
export function guardPid(pid: number): () => void {
  guardian ??= startGuardian();
  const { stdin } = guardian;
  stdin?.write(`+${pid}\n`);
  guarded += 1;
  return () => {
    stdin?.write(`-${pid}\n`);
    guarded -= 1;
    if (guarded > 0) return;
    stdin?.end();
    guardian = undefined;
  };
}

function startGuardian(): ChildProcess {
  const started = spawn(process.execPath, ['--eval', program], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  started.unref();
  started.stdin?.on('error', () => undefined);
  return started;
}
