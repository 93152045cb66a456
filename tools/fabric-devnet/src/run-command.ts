import { execFile } from 'node:child_process';
import { DevnetError, messageOf } from './devnet-error.ts';

interface CommandCall {
  readonly program: string;
  readonly parameters: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Name of the command in messages, such as "peer lifecycle chaincode install". */
  readonly title: string;
  readonly timeoutMs?: number;
}

const outputMaxBytes = 16 * 1024 * 1024;

/** Runs a program and returns its standard output. @throws DevnetError with its last relevant output line. */
export function runCommand({ program, parameters, env, title, timeoutMs = 60_000 }: CommandCall): Promise<string> {
  return new Promise((done, failed) => {
    const options = { env, timeout: timeoutMs, maxBuffer: outputMaxBytes, killSignal: 'SIGKILL' as const };
    execFile(program, parameters, options, (error, stdout, stderr) => {
      if (error === null) return done(stdout);
      const said = wordsOf(stderr) ?? wordsOf(stdout) ?? messageOf(error);
      const how = error.killed === true ? `did not end within ${timeoutMs / 1_000} seconds` : 'failed';
      failed(new DevnetError(explainOutput(`${title} ${how}: ${said}`), { cause: error }));
    });
  });
}

/** The last error line, else the last line; some of Fabric's commands print their usage after the error. */
export function wordsOf(output: string): string | undefined {
  const lines = output
    .replaceAll(ansiColours, '')
    .split('\n')
    .map((line) => line.trim());
  const error = lines.findLast((line) => /^(Error|panic):/.test(line) || /\b(FATA|PANI|CRIT)\b/.test(line));
  return (error ?? lines.findLast((line) => line !== ''))?.slice(0, 500);
}

const ansiColours = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** Prefixes output that reports a full or read-only disk with a plain sentence. */
export function explainOutput(sentence: string): string {
  if (/no space left on device|disk quota exceeded/i.test(sentence)) return `The disk is full. ${sentence}`;
  if (/read-only file system/i.test(sentence)) return `The data folder is on a read-only file system. ${sentence}`;
  return sentence;
}
