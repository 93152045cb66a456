import type { Command } from 'commander';
import { checkPack } from './check-pack.ts';
import type { CommandHost } from './cli.ts';
import { readKeySet } from './key-set.ts';
import { readPackFile } from './pack-file.ts';
import { pathIn, readJson } from './read-file.ts';
import { runKeyedCheck, withKeyOptions } from './run-check.ts';
import type { CommonOptions } from './run-check.ts';

const HELP = `
FILE is the assessor pack of a case, as JSON. Two keys are pinned: --jwks holds those that sign packs (save
/.well-known/jwks.json once, from where you trust it), --key is that of the log its seals are in. Without --jwks a pack can
be found changed, but not verified.

  sealgate-verify pack pack.json --jwks packs.jwks.json --key log.vkey`;

/** Adds `pack`. */
export function addPackCommand(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('pack'))
    .description('is this assessor pack what was signed, and are its seals in the log?')
    .argument('<file>', 'the pack, as JSON')
    .option('--jwks <file>', 'the pinned keys that sign packs')
    .addHelpText('after', HELP)
    .action(async (path: string, options: CommonOptions & { jwks?: string }) => {
      await runKeyedCheck(host, { name: 'pack', options }, async ({ verifier }) => {
        const { name, value } = await readJson(pathIn(host.directory, path));
        const file = readPackFile(name, value);
        const set = options.jwks === undefined ? undefined : await readJson(pathIn(host.directory, options.jwks));
        return checkPack({ file, verifier, jwks: set && readKeySet(set.name, set.value) });
      });
    });
}
