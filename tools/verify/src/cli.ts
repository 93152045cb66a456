import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { addAuditCommand } from './audit-command.ts';
import { addDecisionsCommand, addDeliveryCommand, addPackCommand } from './document-commands.ts';
import { addFabricCommand } from './fabric-command.ts';
import { addLogCommands } from './log-commands.ts';
import { addMonitorCommand } from './monitor-command.ts';
import { addProofCommand, addReceiptCommands } from './receipt-commands.ts';
import { addReleaseCommand } from './release-command.ts';
import { addEnvelopeCommand, addSignedCommand } from './signature-commands.ts';
import type { CliContext, CommandHost, ExitCode } from './run-check.ts';

const HELP = `
Exit codes: 0 verified, 1 not verified, 2 wrong use, or a file that cannot be read or written.
Every command except monitor works offline, on files.
The key: --key takes a C2SP verifier key (<name>+<hash>+<base64>) or a file with one. Get it from a source you trust, not from
the sender of the proof. Without --key, the key of a demo on this machine is used, if there is one: .sealgate/dev.json, else
.sealgate/log.vkey, in the current directory or above.`;

// Set by tools/dev/bundle.ts; absent when running from sources.
declare const SEALGATE_BUILD_VERSION: string | undefined;

function version(): string {
  if (typeof SEALGATE_BUILD_VERSION === 'string') return SEALGATE_BUILD_VERSION;
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Runs one command line, without the names of Node and script. Throws only for bugs. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const program = new Command('sealgate-verify')
    .description('Checks receipts, checkpoints, whole logs and signed documents of a Sealgate ledger, offline.')
    .version(`sealgate-verify ${version()}`, '--version', 'print the version')
    .exitOverride()
    .configureOutput({ writeOut: context.out, writeErr: context.err })
    .showHelpAfterError('("sealgate-verify --help" and "sealgate-verify <command> --help" show how.)')
    .addHelpText('after', HELP);
  const host: CommandHost = { now: Date.now, ...context, exit: (code) => (exitCode = code) };
  addReceiptCommands(program, host);
  addProofCommand(program, host);
  addLogCommands(program, host);
  addFabricCommand(program, host);
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
    // Commander has printed the error; requested help is not an error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}

/** Where `npm run build` writes the page. */
const PAGE_FILE = join(import.meta.dirname, '../../../apps/console/dist/web/verify.html');

const PAGE_HELP = `
The page is one file: copy it, open it in a browser, and drop proofs, checkpoints, envelopes and packs on it. It works
offline.`;

/** Adds `page`. */
export function addPageCommand(program: Command, host: CommandHost, file = PAGE_FILE): void {
  program
    .command('page')
    .description('print the path of the verification page for browsers')
    .addHelpText('after', PAGE_HELP)
    .action(() => {
      if (existsSync(file)) {
        host.out(`${file}\n`);
        host.exit(0);
        return;
      }
      host.err('sealgate-verify page: the page is not built yet: run npm run build.\n');
      host.exit(2);
    });
}
