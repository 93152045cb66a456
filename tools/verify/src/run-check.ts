import type { Command } from 'commander';
import { type KeyOptions, pinnedKey, type PinnedKey, StatementRefusedError } from './pinned-key.ts';
import { type Report, startReport, type Step } from './report.ts';
import { UnreadableError } from './shape.ts';
import type { LOG_PROBLEMS, LogProblemKind } from './monitor-log.ts';

/** 0: verified. 1: not verified. 2: wrong use, unreadable input, or output that cannot be written. From 10: findings of `monitor`. */
export type ExitCode = 0 | 1 | 2 | (typeof LOG_PROBLEMS)[LogProblemKind];

/** The command line's view of the process that runs it. */
export interface CliContext {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Relative paths are resolved against it, and the key of the demo is searched from here upwards. */
  readonly directory: string;
  /** Milliseconds since the epoch; by default the clock of this machine. */
  readonly now?: () => number;
  /** For a command that runs until stopped: aborted by SIGTERM or SIGINT from then on. */
  readonly stopSignal?: () => AbortSignal;
}

/** Context of a command, with its exit code. */
export interface CommandHost extends CliContext {
  readonly now: () => number;
  readonly exit: (code: ExitCode) => void;
}

export interface CommonOptions extends KeyOptions {
  readonly json?: boolean | undefined;
}

/** Adds the common options of commands that check a log. */
export function withKeyOptions(command: Command): Command {
  return command
    .option(
      '--key <vkey>',
      'the pinned verifier key of the log, or a file with one per line; repeatable: a signature by any counts',
      (key: string, before: readonly string[] = []) => [...before, key],
    )
    .option(
      '--statement <file>',
      'a statement of log keys by the pinned root key (/ledger/<channel>/key); repeatable',
      (file: string, before: readonly string[] = []) => [...before, file],
    )
    .option('--dev-json <file>', 'take the key from this dev.json (its ledger.verifierKey)')
    .option('--policy <file>', 'also require cosignatures by a quorum of this C2SP tlog-policy on every checkpoint')
    .option('--json', 'print the report as JSON');
}

/** Runs a check with the pinned key and prints its report. */
export async function runKeyedCheck(
  host: CommandHost,
  about: { name: string; options: CommonOptions },
  check: (key: PinnedKey) => Report | Promise<Report>,
): Promise<void> {
  await runMaybeKeyedCheck(host, about, async (pinned) => check(await pinned()));
}

/** Runs a check that needs the pinned key for some files only. */
export async function runMaybeKeyedCheck(
  host: CommandHost,
  { name, options }: { name: string; options: CommonOptions },
  check: (pinned: () => Promise<PinnedKey>) => Promise<Report>,
): Promise<void> {
  await tell(host, { name, options }, async () => {
    let key: PinnedKey | undefined;
    const report = await check(async () => (key ??= await pinnedKey(options, host)));
    return { report, keys: key === undefined ? [] : keysOf(key) };
  });
}

const keysOf = ({ verifier, source }: PinnedKey): ReportKey[] =>
  verifier.keys.map(({ name, keyHash }) => ({
    name,
    keyHash,
    source: name === verifier.name ? source : 'a statement of the key above',
  }));

/** Runs a check without a log key. */
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

/** A rejected statement is a failed check, not an unreadable file. */
function refusedStatement(error: unknown): { report: Report; keys: readonly ReportKey[] } {
  if (!(error instanceof StatementRefusedError)) throw error;
  const report = startReport();
  report.failed('statement', { detail: error.message, where: error.where });
  return { report: report.finish(''), keys: [] };
}

/** A key used for a report. */
interface ReportKey {
  readonly name: string;
  readonly keyHash: string;
  readonly source: string;
}

const LABELS = { ok: 'ok', failed: 'FAILED', skipped: '-' };
const LABEL_WIDTH = 8;
const LEAST_STEP_WIDTH = 15;

/** The report as lines for a terminal: one per step, with place, expected and found value below failed ones. */
export function reportText(report: Report, keys: readonly ReportKey[]): string {
  const stepWidth = Math.max(LEAST_STEP_WIDTH, ...report.steps.map(({ step }) => step.length + 2));
  const lines = [
    ...keys.map((key) => `key: ${key.name}+${key.keyHash} (from ${key.source})`),
    ...report.steps.flatMap((step) => stepLines(step, stepWidth)),
    ...report.notes.map((note) => `note: ${note}`),
    `${report.verified ? 'VERIFIED' : 'NOT VERIFIED'}. ${report.conclusion}`,
  ];
  return `${lines.map(printable).join('\n')}\n`;
}

/**
 * The report as a JSON object, for scripts: `key` is the first pinned key, `keys` are all of them if there are several.
 */
function reportJson(command: string, report: Report, keys: readonly ReportKey[]): string {
  const { verified, conclusion, steps, notes } = report;
  const pinned = { ...(keys.length > 0 && { key: keys[0] }), ...(keys.length > 1 && { keys }) };
  return `${JSON.stringify({ command, verified, conclusion, ...pinned, steps, notes }, null, 2)}\n`;
}

function stepLines({ step, status, detail, where, expected, found }: Step, stepWidth: number): string[] {
  const indent = ' '.repeat(LABEL_WIDTH + stepWidth);
  const facts = Object.entries({ where, expected, found }).filter(([, value]) => value !== undefined);
  return [
    `${LABELS[status].padEnd(LABEL_WIDTH)}${step.padEnd(stepWidth)}${detail}`,
    ...facts.map(([fact, value]) => `${indent}${`${fact}:`.padEnd(10)}${value}`),
  ];
}

/** The input may be hostile: it must not move the cursor, or fake a line of the report. */
function printable(line: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what is being replaced
  return line.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}
