import type { Command } from 'commander';
import type { CommandHost } from './cli.ts';
import { pinnedKey, StatementRefusedError } from './pinned-key.ts';
import type { KeyOptions, PinnedKey } from './pinned-key.ts';
import { reportJson, reportText } from './print-report.ts';
import type { ReportKey } from './print-report.ts';
import { startReport } from './report.ts';
import type { Report } from './report.ts';
import { UnreadableError } from './unreadable-error.ts';

export interface CommonOptions extends KeyOptions {
  readonly json?: boolean | undefined;
}

/** Adds the options of every command that judges a log. */
export function withKeyOptions(command: Command): Command {
  return command
    .option(
      '--key <vkey>',
      'the pinned verifier key of the log, or a file that holds one a line; repeatable: a signature by any counts',
      (key: string, before: readonly string[] = []) => [...before, key],
    )
    .option(
      '--statement <file>',
      'which keys sign for a log, as the pinned root key stated it (/ledger/<channel>/key); repeatable',
      (file: string, before: readonly string[] = []) => [...before, file],
    )
    .option('--dev-json <file>', 'take the key from this dev.json (its ledger.verifierKey)')
    .option('--policy <file>', 'also require a quorum of the witnesses of this C2SP tlog-policy, of every checkpoint')
    .option('--json', 'print the report as JSON');
}

/** Runs a check against the pinned key and tells its report. */
export async function runKeyedCheck(
  host: CommandHost,
  { name, options }: { name: string; options: CommonOptions },
  check: (key: PinnedKey) => Report | Promise<Report>,
): Promise<void> {
  await tell(host, { name, options }, async () => {
    const key = await pinnedKey(options, host);
    const keys = key.verifier.keys.map(({ name: of, keyHash }) => ({
      ...{ name: of, keyHash },
      source: of === key.verifier.name ? key.source : 'a statement of the key above',
    }));
    return { report: await check(key), keys };
  });
}

/** Runs a check that needs no key of a log. */
export async function runCheck(
  host: CommandHost,
  { name, options }: { name: string; options: CommonOptions },
  check: () => Promise<Report>,
): Promise<void> {
  await tell(host, { name, options }, async () => ({ report: await check(), keys: [] }));
}

async function tell(
  host: CommandHost,
  { name, options }: { name: string; options: CommonOptions },
  check: () => Promise<{ report: Report; keys: readonly ReportKey[] }>,
): Promise<void> {
  try {
    const { report, keys } = await check().catch(refusedStatement);
    host.out(options.json === true ? reportJson(name, report, keys) : reportText(report, keys));
    host.exit(report.verified ? 0 : 1);
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    const { message } = error;
    if (options.json === true)
      host.out(`${JSON.stringify({ command: name, verified: false, error: message }, null, 2)}\n`);
    else host.err(`sealgate-verify ${name}: ${message}\n`);
    host.exit(2);
  }
}

/** A statement that is not believed is a finding, and no file that cannot be read. */
function refusedStatement(error: unknown): { report: Report; keys: readonly ReportKey[] } {
  if (!(error instanceof StatementRefusedError)) throw error;
  const report = startReport();
  report.failed('statement', { detail: error.message, where: error.where });
  return { report: report.finish(''), keys: [] };
}
