import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Runs another program of the workspace in our place: on the terminal that we have, told every signal that we are told.
 * Gives its exit code, as a shell counts it where a signal ended it.
 */
export function runTool(program: string, parameters: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, program, ...parameters], { stdio: 'inherit' });
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => child.kill(name));
  return new Promise((done, failed) => {
    child.once('error', failed);
    child.once('exit', (code, signal) => done(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}
