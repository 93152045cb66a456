import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { NoteVerifier } from '@sealgate/merkle';
import type { Command } from 'commander';
import { openFile, pathIn, readBytesIfThere, readText } from './read-file.ts';
import { startReport, type Report, type Reporter } from './report.ts';
import { type CommandHost, runKeyedCheck } from './run-check.ts';
import { UnreadableError } from './shape.ts';

interface ReleaseOptions {
  readonly key: readonly string[];
  readonly json?: boolean;
}

/** The signed file: a C2SP signed note whose text is the other file, which is for `sha256sum`. */
const NOTE = 'SHA256SUMS.note';
const SUMS = 'SHA256SUMS';
const LINE = /^([0-9a-f]{64}) {2}([A-Za-z0-9][A-Za-z0-9._-]*)$/;

const HELP = `
DIR is a published release. Without FILE it must be complete, without other files; with FILE only these are checked. The
key is the publisher's, from a source you trust, not from the release.

  sealgate-verify release dist/release --key release.vkey
  sealgate-verify release . sealgate-ledger-peer-1.0.0.tar.gz --key release.vkey`;

/** Adds `release`. */
export function addReleaseCommand(program: Command, host: CommandHost): void {
  program
    .command('release')
    .description('check the files of a release against a pinned key')
    .argument('<dir>', 'the folder of the release')
    .argument('[files...]', 'only these files of it')
    .requiredOption(
      '--key <vkey>',
      'the pinned key of the publisher, or a file with one per line; repeatable',
      (key: string, before: readonly string[] = []) => [...before, key],
    )
    .option('--json', 'print the report as JSON')
    .addHelpText('after', HELP)
    .action(async (dir: string, files: readonly string[], options: ReleaseOptions) => {
      await runKeyedCheck(host, { name: 'release', options }, ({ verifier }) =>
        checkRelease({ directory: pathIn(host.directory, dir), files, verifier }),
      );
    });
}

/** Checks the signature of the list of files, then each file against the list. @throws UnreadableError. */
async function checkRelease(input: {
  readonly directory: string;
  readonly files: readonly string[];
  readonly verifier: NoteVerifier;
}): Promise<Report> {
  const { directory, files, verifier } = input;
  const report = startReport();
  const where = join(directory, NOTE);
  const signed = verifier.verify(await readText(where));
  if (signed === undefined) {
    report.failed('signature', { detail: 'No pinned key signed the list of files.', where });
    return report.finish('');
  }
  report.ok('signature', `${verifier.name} signed the list of files.`);
  const sums = readSums(report, signed.text, where);
  const plain = await readBytesIfThere(join(directory, SUMS));
  if (plain !== undefined)
    report.equal('list', {
      ok: `${SUMS} is the list that was signed.`,
      failed: `${SUMS} is another list than the one that was signed.`,
      where: join(directory, SUMS),
      expected: sha256(Buffer.from(signed.text)),
      found: sha256(plain),
    });
  const present = await namesIn(directory);
  for (const name of files.length === 0 ? [...sums.keys()] : files) {
    const expected = sums.get(name);
    const path = join(directory, name);
    if (expected === undefined) report.failed('file', { detail: `${name} is no file of this release.`, where });
    else if (!present.includes(name)) report.failed('file', { detail: `${name} is missing.`, where: path });
    else
      report.equal('file', {
        ok: `${name} is as it was released.`,
        failed: `${name} is not as it was released.`,
        where: path,
        expected,
        found: await fileSha256(path),
      });
  }
  if (files.length === 0)
    for (const name of present.filter((one) => one !== NOTE && one !== SUMS && !sums.has(one)))
      report.failed('file', { detail: `${name} is no file of this release.`, where: join(directory, name) });
  report.note('What the files do is not judged: only that they are those that were signed.');
  return report.finish(`${files.length === 0 ? sums.size : files.length} files are as ${verifier.name} released them.`);
}

/** The pattern excludes names that lead out of the folder. */
function readSums(report: Reporter, text: string, where: string): Map<string, string> {
  const sums = new Map<string, string>();
  for (const [index, line] of text.trimEnd().split('\n').entries()) {
    const [, sum, name] = LINE.exec(line) ?? [];
    if (sum === undefined || name === undefined || sums.has(name))
      report.failed('list', {
        detail: 'A line is no digest and name, or names a file twice.',
        where: `${where}#${index + 1}`,
      });
    else sums.set(name, sum);
  }
  return sums;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).toSorted();
  } catch (cause) {
    throw new UnreadableError(`${directory} cannot be read.`, { cause });
  }
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function fileSha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of openFile(path)) hash.update(chunk);
  return hash.digest('hex');
}
