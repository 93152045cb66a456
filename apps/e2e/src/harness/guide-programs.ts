import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const root = join(import.meta.dirname, '../../../..');
export const run = promisify(execFile);
export const hasPython = spawnSync('python3', ['-c', 'import cryptography']).status === 0;
if (!hasPython) process.stderr.write('SKIPPED: the Python of the guides; there is no python3 with cryptography.\n');
export const languages = [
  ['ts', 'TypeScript', true],
  ['python', 'Python', hasPython],
  ['sh', 'curl', true],
] as const;

/** A folder within the checkout, where programs find the client and `npx` the verifier. Remove it at the end. */
export function guideFolder(): string {
  mkdirSync(join(root, 'tmp'), { recursive: true });
  return mkdtempSync(join(root, 'tmp/guides-'));
}

export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/** The code blocks of a guide in a language, in order. Fails where there are none. */
export function shown(guide: string, language: string): string[] {
  const text = readFileSync(join(root, 'infra/guides', guide), 'utf8');
  const blocks = [...text.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, code = '']) => code);
  if (blocks.length === 0) throw new Error(`${guide} shows nothing in ${language}.`);
  return blocks;
}

/** The code block with this index in a language; default the first. */
interface Program {
  readonly guide: string;
  readonly language: string;
  readonly number?: number;
}

/** Writes a program of a guide, verbatim, into the folder. */
export function written(folder: string, { guide, language, number = 0 }: Program): string {
  const file = join(folder, `${guide}-${number}.${{ ts: 'mts', python: 'py', sh: 'sh' }[language]!}`);
  writeFileSync(file, shown(guide, language)[number]!);
  return file;
}

/** Runs a program of a guide in the folder, and returns its output. */
export async function runProgram(
  folder: string,
  program: Program,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const file = written(folder, program);
  const command = { ts: process.execPath, python: 'python3', sh: 'sh' }[program.language]!;
  const { stdout } = await run(command, program.language === 'sh' ? ['-eu', file] : [file], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
  });
  return stdout;
}
