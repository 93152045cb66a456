import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { noteSigner, type NoteSigner } from '@sealgate/merkle';
import { messageOf, UserError } from '../start/user-error.ts';
import { workspaceRoot } from '../workspace.ts';
import { makeRelease } from './make-release.ts';

const HELP = `npm run release -- --key FILE | --unsigned [--output DIR]

  --key FILE    signs SHA256SUMS with a C2SP note key, as from \`npx sealgate secrets new ledger-signing-key --name NAME\`
  --unsigned    a dry run: nothing is signed, and changes that are not committed are taken too
  --output DIR  the output folder, replaced if it exists (default dist/release)
`;

/** `npm run release`. Returns the exit code. */
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
        ? 'UNSIGNED: a dry run. These files cannot be verified; publish only a release made with --key.\n'
        : `Signed. The verifier key to pin: ${signer.verifierKey}\n`,
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
    throw new UserError('Use either --key FILE or --unsigned: there is no default.');
  const signer = values.key === undefined ? undefined : readSigner(resolve(workspaceRoot, values.key));
  return { signer, output: resolve(workspaceRoot, values.output) };
}

/** Error messages never contain the key. */
function readSigner(file: string): NoteSigner {
  try {
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
      throw new UserError(`${file} can be read by other users. Make it 0600 first.`);
    return noteSigner(readFileSync(file, 'utf8').trim());
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${file} holds no key to sign with: ${messageOf(error)}`, { cause: error });
  }
}

/** Source of the version, and the commit time: the only time in a release. */
function committed(isDryRun: boolean): { commit: string; committedSeconds: number } {
  const git = (...parameters: string[]): string => {
    const { status, stdout } = spawnSync('git', parameters, { cwd: workspaceRoot, encoding: 'utf8' });
    if (status !== 0)
      throw new UserError('A release needs a commit: this is not a Git checkout, or git is not installed.');
    return stdout.trim();
  };
  const isChanged = git('status', '--porcelain') !== '';
  if (isChanged && !isDryRun) throw new UserError('There are uncommitted changes: a release needs a commit.');
  const commit = git('rev-parse', 'HEAD');
  return {
    commit: isChanged ? `${commit}-changed` : commit,
    committedSeconds: Number(git('log', '-1', '--format=%ct')),
  };
}
