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

A head that was left out of HEADS takes the decisions it covers with it, and nothing in HEADS shows that where it is the last one,
or all of a process. --log DIR is a copy of the channel's log (checkpoint and bundles of entries): every entry of type
gate.decisions in it has to be among the heads, and every head among the entries. Copy the log before you save the heads.

  sealgate ledger export https://peer.example/ledger/gate.seals copy/ --key log.vkey
  sealgate decisions heads > heads.ndjson && sealgate decisions log > decisions.ndjson
  sealgate-verify decisions decisions.ndjson heads.ndjson --key log.vkey --channel gate.seals --log copy/`;

interface DecisionOptions {
  readonly channel?: string;
  readonly from?: string;
  readonly log?: string;
}

/** Adds `decisions`. */
export function addDecisionsCommand(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('decisions'))
    .description("is every decision of the gate in its log, once and unchanged, as far as the ledger's heads cover?")
    .argument('<decisions>', 'the log of decisions as NDJSON')
    .argument('<heads>', 'the heads of its chains as NDJSON, each with its proof')
    .option('--channel <channel>', 'the channel that the heads have to be in: <network>.<name>')
    .option('--log <dir>', 'a copy of the log of that channel: names heads that were withheld')
    .option('--from <time>', 'leave out heads that were made before, RFC 3339')
    .addHelpText('after', HELP)
    .action(async (decisions: string, heads: string, options: CommonOptions & DecisionOptions) => {
      await runKeyedCheck(host, { name: 'decisions', options }, ({ verifier }) => {
        const { channel, from, log } = options;
        if (from !== undefined && Number.isNaN(Date.parse(from)))
          throw new UnreadableError('--from takes an RFC 3339 time.');
        const at = (path: string) => pathIn(host.directory, path);
        return checkDecisions({
          decisions: at(decisions),
          heads: at(heads),
          verifier,
          channel,
          from,
          ...(log === undefined ? {} : { log: at(log) }),
        });
      });
    });
}
