import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { workspaceRoot } from '../workspace.ts';

interface Command {
  /** Arguments of Node: a script's path, or Node's own options before it. */
  readonly nodeArguments: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** `errors` shows only standard error; `kept` returns both outputs, truncated to their last part. */
  readonly output: 'shown' | 'errors' | 'kept';
}

export interface CommandResult {
  readonly ok: boolean;
  readonly said: string;
}

const keptCharacters = 400_000;

/** Runs a program of the workspace. Exceeding the time limit is a failure. Never rejects. */
export function runCommand(command: Command): Promise<CommandResult> {
  return new Promise((done) => {
    const kept = command.output === 'kept';
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...command.nodeArguments], {
      cwd: workspaceRoot,
      env: { ...process.env, ...command.env },
      stdio: ['ignore', kept ? 'pipe' : command.output === 'shown' ? 'inherit' : 'ignore', kept ? 'pipe' : 'inherit'],
      timeout: command.timeoutMs,
      killSignal: 'SIGKILL',
    });
    let said = '';
    const keep = (chunk: Buffer): void => {
      said = (said + chunk.toString('utf8')).slice(-keptCharacters);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.on('error', (error) => done({ ok: false, said: error.message }));
    child.on('close', (code, signal) => {
      const late = signal === 'SIGKILL' ? `\nIt was killed after ${command.timeoutMs / 1_000} s.\n` : '';
      done({ ok: code === 0, said: said + late });
    });
  });
}

/**
 * Runs another program of the workspace on this terminal, and forwards signals. Returns its exit code; 128 plus the
 * signal number if it was killed.
 */
export function runTool(program: string, parameters: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, program, ...parameters], { stdio: 'inherit' });
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => child.kill(name));
  return new Promise((done, failed) => {
    child.once('error', failed);
    child.once('exit', (code, signal) => done(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}
