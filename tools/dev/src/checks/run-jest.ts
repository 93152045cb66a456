import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programs } from '../workspace.ts';
import { runCommand } from './run-command.ts';
import { afterRetry, failedFilesOf, tallyOf, type Tally } from './tally.ts';

export interface JestRun {
  /** The name of a project in jest.config.mjs. */
  readonly project: string;
  /** Which of its files, by a part of their paths; all unless said otherwise. */
  readonly paths?: readonly string[];
  /** One worker means: in this process, one file after the other. */
  readonly workers: number;
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Runs the files that failed once more, where they are few: on a busy machine a test can fail that passes alone. */
  readonly retryFailed?: boolean;
}

/** More failed files than this are a defect, not a busy machine. */
const MOST_RETRIED = 5;

/** Runs one project of jest with its own output shown, and counts what it reports. */
export async function runJest(run: JestRun): Promise<Tally> {
  const { tally, failedFiles } = await runOnce(run);
  if (run.retryFailed !== true || failedFiles.length === 0 || failedFiles.length > MOST_RETRIED) return tally;
  process.stderr.write(`\nRunning once more what failed: ${failedFiles.join(', ')}\n`);
  const retried = await runOnce({ ...run, workers: 1, paths: failedFiles, isRetry: true });
  const after = afterRetry(tally, retried.tally);
  if (after.flaky > 0) process.stderr.write(`FLAKY: ${after.flaky} failed at first and passed alone; see above.\n`);
  return after;
}

async function runOnce({
  project,
  paths = [],
  workers,
  timeoutMs,
  env = {},
  isRetry = false,
}: JestRun & { readonly isRetry?: boolean }): Promise<{ tally: Tally; failedFiles: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-check-'));
  const report = join(folder, 'report.json');
  // What a failed test left open must not hold up the rest.
  const how = [...(workers === 1 ? ['--runInBand'] : [`--maxWorkers=${workers}`]), ...(isRetry ? ['--forceExit'] : [])];
  const parameters = [
    ...['--selectProjects', project, ...how, ...paths],
    ...(paths.length === 0 ? ['--passWithNoTests'] : []),
    ...['--json', `--outputFile=${report}`],
  ];
  try {
    const nodeArguments = ['--experimental-vm-modules', programs.jest, ...parameters];
    // `--json` also prints the whole report to standard output, which says nothing to a person; it is kept and dropped.
    const { ok } = await runCommand({ nodeArguments, env, timeoutMs, output: 'errors' });
    const written = readReport(report);
    const tally = tallyOf(written);
    if (ok || tally.failed > 0) return { tally, failedFiles: failedFilesOf(written) };
    process.stderr.write(
      `The tests passed, but their process had to be ended: something that they opened was not closed.\n`,
    );
    return { tally: { ...tally, failed: 1 }, failedFiles: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined; // jest ended before it wrote one: tallyOf counts that as a failure.
  }
}
