import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programs } from '../workspace.ts';
import { runCommand } from './run-command.ts';
import { tallyOf, type Tally } from './tally.ts';

export interface JestRun {
  /** The name of a project in jest.config.mjs. */
  readonly project: string;
  /** Which of its files, by a part of their paths; all unless said otherwise. */
  readonly paths?: readonly string[];
  /** One worker means: in this process, one file after the other. */
  readonly workers: number;
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs one project of jest with its own output shown, and counts what it reports. */
export async function runJest({ project, paths = [], workers, timeoutMs, env = {} }: JestRun): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-check-'));
  const report = join(folder, 'report.json');
  const how = workers === 1 ? ['--runInBand'] : [`--maxWorkers=${workers}`];
  const parameters = [
    ...['--selectProjects', project, ...how, ...paths],
    ...(paths.length === 0 ? ['--passWithNoTests'] : []),
    ...['--json', `--outputFile=${report}`],
  ];
  try {
    const nodeArguments = ['--experimental-vm-modules', programs.jest, ...parameters];
    // `--json` also prints the whole report to standard output, which says nothing to a person; it is kept and dropped.
    const { ok } = await runCommand({ nodeArguments, env, timeoutMs, output: 'errors' });
    const tally = tallyOf(readReport(report));
    if (ok || tally.failed > 0) return tally;
    process.stderr.write(
      `The tests passed, but their process had to be ended: something that they opened was not closed.\n`,
    );
    return { ...tally, failed: 1 };
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
