import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programs } from '../workspace.ts';
import { runCommand } from './run-command.ts';
import { afterRetry, failedFilesOf, failedTestsOf, filesOf, tallyOf, type Tally, type TestFile } from './tally.ts';

interface JestRun {
  /** Name of a project in jest.config.mjs. */
  readonly project: string;
  /** Path patterns; all files by default. */
  readonly paths?: readonly string[];
  /** One worker: in this process, one file after the other. */
  readonly workers: number;
  readonly timeoutMs: number;
  /** Default: that of Node. */
  readonly heapMiB?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Reruns failed files once, if they are few: on a busy machine a test may fail that passes alone. */
  readonly retryFailed?: boolean;
}

export interface JestResult {
  readonly tally: Tally;
  /** Empty if jest crashed or was killed. */
  readonly files: readonly TestFile[];
  /** Tests that failed, and failed again if their file ran again: `file: title`. */
  readonly failedTests: readonly string[];
  /** Tests that failed, and passed when their file ran again: `file: title`. */
  readonly flakyTests: readonly string[];
}

interface RunResult extends Pick<JestResult, 'tally' | 'files'> {
  readonly failedFiles: readonly string[];
  readonly failedTests: readonly string[];
}

/** More failed files than this are a defect, not a busy machine. */
const MOST_RETRIED = 10;

/** Runs one project of jest, shows its output, and returns the tally and how long each file took. */
export async function runJest(run: JestRun): Promise<JestResult> {
  const { tally, files, failedFiles, failedTests } = await runOnce(run);
  if (run.retryFailed !== true || failedFiles.length === 0 || failedFiles.length > MOST_RETRIED)
    return { tally, files, failedTests, flakyTests: [] };
  process.stderr.write(`\nRerunning failed files: ${failedFiles.join(', ')}\n`);
  const retried = await runOnce({ ...run, workers: 1, paths: failedFiles, isRetry: true });
  const again = new Set(retried.failedTests);
  return {
    tally: afterRetry(tally, retried.tally),
    files,
    failedTests: retried.failedTests,
    flakyTests: failedTests.filter((test) => !again.has(test)),
  };
}

async function runOnce({
  project,
  paths = [],
  workers,
  timeoutMs,
  heapMiB,
  env = {},
  isRetry = false,
}: JestRun & { readonly isRetry?: boolean }): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-check-'));
  const report = join(folder, 'report.json');
  // Handles left open by a failed test must not block the rest.
  const how = [...(workers === 1 ? ['--runInBand'] : [`--maxWorkers=${workers}`]), ...(isRetry ? ['--forceExit'] : [])];
  const parameters = [
    ...['--selectProjects', project, ...how, ...paths],
    ...(paths.length === 0 ? ['--passWithNoTests'] : []),
    ...['--json', `--outputFile=${report}`],
  ];
  try {
    const heap = heapMiB === undefined ? [] : [`--max-old-space-size=${heapMiB}`];
    const nodeArguments = ['--experimental-vm-modules', ...heap, programs.jest, ...parameters];
    // `--json` also prints the report to standard output; it is dropped.
    const { ok } = await runCommand({ nodeArguments, env, timeoutMs, output: 'errors' });
    const written = readReport(report);
    const tally = tallyOf(written);
    const files = filesOf(written);
    const failedTests = failedTestsOf(written);
    if (ok || tally.failed > 0) return { tally, files, failedFiles: failedFilesOf(written), failedTests };
    process.stderr.write(`The tests passed, but their process had to be killed: a handle was not closed.\n`);
    return { tally: { ...tally, failed: 1 }, files, failedFiles: [], failedTests };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined; // jest exited before writing it: tallyOf counts that as a failure.
  }
}
