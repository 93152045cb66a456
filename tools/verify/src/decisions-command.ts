import type { Command } from 'commander';
import { checkDecisions } from './check-decisions.ts';
import type { CommandHost } from './cli.ts';
import { pathIn } from './read-file.ts';
import { runKeyedCheck, withKeyOptions } from './run-check.ts';
import type { CommonOptions } from './run-check.ts';
import { UnreadableError } from './unreadable-error.ts';

const HELP = `
DECISIONS is the log of decisions by process and number, HEADS are the heads of its chains with their proofs, one a line each.
Save the heads first. Every decision that a head covers has to be there once and as it was made. What came after the last
head of a process is at most a minute old, or its process crashed: it is told, and is no fault. Decisions that the retention
has removed are missing: --from leaves out what heads before that time cover.

  sealgate decisions heads > heads.ndjson && sealgate decisions log > decisions.ndjson
  sealgate-verify decisions decisions.ndjson heads.ndjson --key log.vkey --channel gate.seals`;

/** Adds `decisions`. */
export function addDecisionsCommand(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('decisions'))
    .description("is every decision of the gate in its log, once and unchanged, as far as the ledger's heads cover?")
    .argument('<decisions>', 'the log of decisions as NDJSON')
    .argument('<heads>', 'the heads of its chains as NDJSON, each with its proof')
    .option('--channel <channel>', 'the channel that the heads have to be in: <network>.<name>')
    .option('--from <time>', 'leave out heads that were made before, RFC 3339')
    .addHelpText('after', HELP)
    .action(async (decisions: string, heads: string, options: CommonOptions & { channel?: string; from?: string }) => {
      await runKeyedCheck(host, { name: 'decisions', options }, ({ verifier }) => {
        const { channel, from } = options;
        if (from !== undefined && Number.isNaN(Date.parse(from)))
          throw new UnreadableError('--from takes an RFC 3339 time.');
        const at = (path: string) => pathIn(host.directory, path);
        return checkDecisions({ decisions: at(decisions), heads: at(heads), verifier, channel, from });
      });
    });
}
