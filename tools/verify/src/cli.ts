import { Command, CommanderError } from 'commander';
import { addAuditCommand } from './audit-command.ts';
import { addDecisionsCommand } from './decisions-command.ts';
import { addDeliveryCommand } from './delivery-command.ts';
import { addEnvelopeCommand } from './envelope-command.ts';
import { addLogCommands } from './log-commands.ts';
import { addMonitorCommand } from './monitor-command.ts';
import type { LOG_PROBLEMS, LogProblemKind } from './monitor-log.ts';
import { addPackCommand } from './pack-command.ts';
import { addPageCommand } from './page-command.ts';
import { addProofCommand } from './proof-command.ts';
import { addReceiptCommands } from './receipt-commands.ts';
import { addReleaseCommand } from './release-command.ts';
import { addSignedCommand } from './signed-command.ts';

/** What the command line needs of the process that runs it. */
export interface CliContext {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Relative paths are seen from here, and the key of the demo is looked for from here upwards. */
  readonly directory: string;
  /** Milliseconds since the epoch; the clock of this machine, unless given. */
  readonly now?: () => number;
  /** For a command that goes on until it is told to end: aborted by SIGTERM or SIGINT from then on. */
  readonly stopSignal?: () => AbortSignal;
}

/** What a command reports its exit code with. */
export interface CommandHost extends CliContext {
  readonly now: () => number;
  readonly exit: (code: ExitCode) => void;
}

/** 0: verified. 1: not verified. 2: wrong use, or something that cannot be read. From 10 on: what `monitor` found. */
export type ExitCode = 0 | 1 | 2 | (typeof LOG_PROBLEMS)[LogProblemKind];

const HELP = `
Exit codes: 0 verified, 1 not verified, 2 wrong use or unreadable.
Every command but monitor works without a network, on files, and sends nothing anywhere.
The key: --key takes a C2SP verifier key (<name>+<hash>+<base64>) or a file that holds one. Take it from somewhere you trust,
not from whoever hands you the proof. Without --key, that of this machine's own demo is used where there is one: .sealgate/dev.json, else
.sealgate/log.vkey, in the current directory or above.`;

/** Runs one command line, given without the names of Node and the script. Throws only for bugs. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const program = new Command('sealgate-verify')
    .description('Checks receipts, checkpoints, whole logs and signed documents of a Sealgate ledger, offline.')
    .exitOverride()
    .configureOutput({ writeOut: context.out, writeErr: context.err })
    .showHelpAfterError('("sealgate-verify --help" and "sealgate-verify <command> --help" show how.)')
    .addHelpText('after', HELP);
  const host: CommandHost = { now: Date.now, ...context, exit: (code) => (exitCode = code) };
  addReceiptCommands(program, host);
  addProofCommand(program, host);
  addLogCommands(program, host);
  addSignedCommand(program, host);
  addMonitorCommand(program, host);
  addPackCommand(program, host);
  addEnvelopeCommand(program, host);
  addDecisionsCommand(program, host);
  addAuditCommand(program, host);
  addDeliveryCommand(program, host);
  addReleaseCommand(program, host);
  addPageCommand(program, host);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has said what is wrong; help that was asked for is no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}
