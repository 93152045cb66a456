import { runCli } from '../cli.ts';
import type { CliContext } from '../session.ts';

/** Splits a command line like a shell: with quotes, without `> file`. */
export function wordsOf(line: string): string[] {
  const words = [...line.replace(/ > \S+$/, '').matchAll(/'([^']*)'|(\S+)/g)];
  return words.map(([, quoted, plain]) => quoted ?? plain ?? '');
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs one line, without the word `sealgate`, with only the given environment. */
export async function runLine(line: string | readonly string[], context: Partial<CliContext> = {}): Promise<Ran> {
  const written = { out: '', err: '' };
  const code = await runCli(typeof line === 'string' ? wordsOf(line) : line, {
    out: (text) => (written.out += text),
    err: (text) => (written.err += text),
    env: {},
    directory: '/',
    uid: process.getuid?.(),
    ask: undefined,
    pause: async () => undefined,
    ...context,
  });
  return { code, ...written };
}
