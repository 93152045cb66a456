import { execFile } from 'node:child_process';
import { DevnetError, messageOf } from './devnet-error.ts';

export interface CommandCall {
  readonly program: string;
  readonly parameters: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What to call it in a message, such as "peer lifecycle chaincode install". */
  readonly title: string;
  readonly timeoutMs?: number;
}

const outputMaxBytes = 16 * 1024 * 1024;

/** Runs a program to its end and gives its standard output. Throws DevnetError with the last line that it said. */
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

/** The last line that says something; Fabric's commands end with the error, and some print their usage after it. */
export function wordsOf(output: string): string | undefined {
  const lines = output
    .replaceAll(ansiColours, '')
    .split('\n')
    .map((line) => line.trim());
  const error = lines.findLast((line) => /^(Error|panic):/.test(line) || /\b(FATA|PANI|CRIT)\b/.test(line));
  return (error ?? lines.findLast((line) => line !== ''))?.slice(0, 500);
}

const ansiColours = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** What the operating system says through a Fabric program about the disk is told as one sentence. */
export function explainOutput(sentence: string): string {
  if (/no space left on device|disk quota exceeded/i.test(sentence)) return `The disk is full. ${sentence}`;
  if (/read-only file system/i.test(sentence)) return `The data lies on a read-only file system. ${sentence}`;
  return sentence;
}
