import { spawn } from 'node:child_process';
import { workspaceRoot } from '../workspace.ts';

export interface Command {
  /** Arguments of this Node: a script's path first, or Node's own options before it. */
  readonly nodeArguments: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** `errors` drops standard output and shows the rest; `kept` gives both back, their last part if they are long. */
  readonly output: 'shown' | 'errors' | 'kept';
}

export interface CommandResult {
  readonly ok: boolean;
  readonly said: string;
}

const keptCharacters = 400_000;

/** Runs a program of the workspace to its end, or to its time limit, past which it counts as failed. Never rejects. */
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
      const late = signal === 'SIGKILL' ? `\nIt was ended after ${command.timeoutMs / 1_000} s.\n` : '';
      done({ ok: code === 0, said: said + late });
    });
  });
}
