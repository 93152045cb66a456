import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { noteSigner, type NoteSigner } from '@sealgate/merkle';
import { messageOf, UserError } from '../start/user-error.ts';
import { workspaceRoot } from '../workspace.ts';
import { makeRelease } from './make-release.ts';

const HELP = `npm run release -- --key FILE | --unsigned [--output DIR]

  --key FILE    signs SHA256SUMS: a C2SP note key, as \`npx sealgate secrets new ledger-signing-key --name NAME\` prints one
  --unsigned    a dry run: nothing is signed, and changes that are not committed are taken too
  --output DIR  where the release is put, in place of dist/release; what is there is replaced
`;

/** \`npm run release\`. Gives the exit code. */
export async function runRelease(parameters: readonly string[]): Promise<number> {
  try {
    const options = parseOptions(parameters);
    if (options === undefined) {
      process.stdout.write(HELP);
      return 0;
    }
    const { signer, output } = options;
    const { files, version, commit } = await makeRelease({ output, signer, ...committed(signer === undefined) });
    process.stdout.write(`Sealgate ${version} of ${commit}: ${files} files in ${output}.\n`);
    process.stdout.write(
      signer === undefined
        ? 'UNSIGNED: a dry run. Nobody can verify these files; hand out a release made with --key.\n'
        : `Signed. Who verifies it pins ${signer.verifierKey}\n`,
    );
    return 0;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

function parseOptions(parameters: readonly string[]): { signer: NoteSigner | undefined; output: string } | undefined {
  const options = {
    key: { type: 'string' },
    unsigned: { type: 'boolean', default: false },
    output: { type: 'string', default: 'dist/release' },
    help: { type: 'boolean', default: false },
  } as const;
  let values;
  try {
    ({ values } = parseArgs({ args: [...parameters], options }));
  } catch (error) {
    throw new UserError(`${messageOf(error)}\n\n${HELP}`);
  }
  if (values.help) return undefined;
  if ((values.key === undefined) === !values.unsigned)
    throw new UserError(
      'Say either --key FILE or --unsigned: nothing is signed by default, and nothing left unsigned.',
    );
  const signer = values.key === undefined ? undefined : readSigner(resolve(workspaceRoot, values.key));
  return { signer, output: resolve(workspaceRoot, values.output) };
}

/** The key is in no message. */
function readSigner(file: string): NoteSigner {
  try {
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
      throw new UserError(`${file} can be read by others than its owner. Make it 0600 first.`);
    return noteSigner(readFileSync(file, 'utf8').trim());
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${file} holds no key to sign with: ${messageOf(error)}`, { cause: error });
  }
}

/** What the sources are called, and when they were committed: a release knows no other time. */
function committed(isDryRun: boolean): { commit: string; committedSeconds: number } {
  const git = (...parameters: string[]): string => {
    const { status, stdout } = spawnSync('git', parameters, { cwd: workspaceRoot, encoding: 'utf8' });
    if (status !== 0)
      throw new UserError('A release is made of a commit: this is no checkout of Git, or there is no git.');
    return stdout.trim();
  };
  const isChanged = git('status', '--porcelain') !== '';
  if (isChanged && !isDryRun)
    throw new UserError('There are changes that are not committed: a release is made of a commit.');
  const commit = git('rev-parse', 'HEAD');
  return {
    commit: isChanged ? `${commit}-changed` : commit,
    committedSeconds: Number(git('log', '-1', '--format=%ct')),
  };
}
