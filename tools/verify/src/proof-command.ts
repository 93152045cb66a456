import type { Command } from 'commander';
import { checkLogProof } from './check-log-proof.ts';
import type { CommandHost } from './cli.ts';
import { pinnedKey, readPolicy } from './pinned-key.ts';
import type { KeyOptions } from './pinned-key.ts';
import { pathIn, readBytes, readText } from './read-file.ts';
import { runCheck, withKeyOptions } from './run-check.ts';
import type { CommonOptions } from './run-check.ts';

const PROOF_HELP = `
FILE is a C2SP tlog-proof file: a record's place, its way to the root, and a checkpoint that the log, and perhaps witnesses, have
signed. The ledger peer serves it as /ledger/<channel>/records/<id>/proof?format=tlog-proof; what its leaf is hashed over
stands in it, or is given with --entry. The POLICY (C2SP tlog-policy) names the logs and witnesses that are trusted; where it names no log,
or there is none, the key of the log is pinned as for every other command.

  sealgate-verify proof order-7.tlog-proof --policy policy.txt
  sealgate-verify proof order-7.tlog-proof --key log.vkey`;

/** Adds `proof`. */
export function addProofCommand(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('proof'))
    .description('is this record in a log that a policy trusts, by a tlog-proof file alone?')
    .argument('<file>', 'a tlog-proof file')
    .option('--entry <file>', 'the bytes that the leaf is hashed over, where the file does not hold them')
    .addHelpText('after', PROOF_HELP)
    .action(async (path: string, options: CommonOptions & { entry?: string }) => {
      await runCheck(host, { name: 'proof', options }, async () => {
        const where = pathIn(host.directory, path);
        const text = await readText(where);
        const entry = options.entry === undefined ? undefined : await readBytes(pathIn(host.directory, options.entry));
        const policy =
          options.policy === undefined ? undefined : await readPolicy(pathIn(host.directory, options.policy));
        const logs = await pinnedLogs(options, (policy?.logs.length ?? 0) > 0, host);
        return checkLogProof({ text, where, entry, policy, logs });
      });
    });
}

/** The pinned key, unless the policy names the logs and none was given. */
async function pinnedLogs({ policy: _, ...pins }: KeyOptions, policyHasLogs: boolean, host: CommandHost) {
  if (policyHasLogs && pins.key === undefined && pins.devJson === undefined) return undefined;
  return (await pinnedKey(pins, host)).verifier;
}
