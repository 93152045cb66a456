import { availableParallelism } from 'node:os';
import { stripVTControlCharacters } from 'node:util';
import { builtRedisFolder, findRedisServer } from '@sealgate/local-services';
import { programs } from '../workspace.ts';
import { hasFabricCommands, judgeFabric } from './fabric-checks.ts';
import { filesAtOnce } from './files-at-once.ts';
import { runCommand } from './run-command.ts';
import { runJest, type JestResult } from './run-jest.ts';
import { closingLine, nothing, oneFailure, slowestFiles, sum, type Tally, type TestFile } from './tally.ts';

/** Checks that run together; each can be named alone. */
interface Group {
  readonly names: readonly string[];
  /** Runs the named checks; returns the result of each. */
  run(names: readonly string[]): Promise<readonly JestResult[]>;
}

const minuteMs = 60_000;

const withoutTests = (tally: Tally): JestResult => ({ tally, files: [], failedTests: [], flakyTests: [] });

const single = (name: string, run: () => Promise<JestResult>): Group => ({
  names: [name],
  run: async () => [await run()],
});

const withoutFiles = (name: string, run: () => Promise<Tally>): Group =>
  single(name, async () => withoutTests(await run()));

/** The tests of one project of jest.config.mjs. `mostMinutes` ends a hang, and leaves slow machines three times as long. */
const tests = (project: string, workers: () => number, mostMinutes = 30): Group =>
  single(project, () => runJest({ project, workers: workers(), timeoutMs: mostMinutes * minuteMs, retryFailed: true }));

/**
 * Targets by check. They are tasks of one Nx run, because lint, types and format use one core each. The longest comes
 * first. Lint is one process, which loads the types of the workspace once: per project it takes five times as long.
 */
const codeTargets: Readonly<Record<string, string>> = {
  generate: 'generate',
  lint: 'lint-workspace',
  types: 'types',
  format: 'format',
  bundles: 'build',
};

/** The output is shown only on failure. */
const code: Group = {
  names: Object.keys(codeTargets),
  async run(names) {
    const targets = names.map((name) => codeTargets[name]!);
    const { ok, said } = await runCommand({
      nodeArguments: [programs.nx, 'run-many', '-t', ...targets, '--outputStyle=static'],
      env: { NX_DAEMON: 'false', NX_TUI: 'false' },
      timeoutMs: 20 * minuteMs,
      output: 'kept',
    });
    // Without the project graph the rule of module boundaries is skipped, with this message.
    const isSkipped = said.includes('The rule will be skipped');
    if (ok && !isSkipped) return names.map(() => withoutTests(nothing));
    process.stderr.write(`${said}\n`);
    const failed = new Set([...unfinishedTargets(said), ...(isSkipped ? ['lint-workspace'] : [])]);
    // If Nx itself fails, it lists no task.
    const isListed = targets.some((target) => failed.has(target));
    return targets.map((target) => withoutTests(!isListed || failed.has(target) ? oneFailure : nothing));
  },
};

/** The targets of the tasks that Nx lists at its end: `- project:target`, failed or not run because another failed. */
export const unfinishedTargets = (said: string): string[] =>
  [...stripVTControlCharacters(said).matchAll(/^\s*- [\w-]+:([\w-]+)$/gm)].map(([, target = '']) => target);

/** Redis is optional for the product, but tests are skipped without it: with CI set, that is a failure. */
async function redis(): Promise<Tally> {
  if (findRedisServer() !== undefined) return nothing;
  const problem = await buildRedis();
  if (problem === undefined) return nothing;
  process.stderr.write(`There is no redis-server on the PATH, and none could be built (${problem}).\n`);
  process.stderr.write(
    'Tests that need it are skipped. Install it with: apt-get install redis-server, or brew install redis\n',
  );
  return process.env['CI'] === 'true' ? oneFailure : nothing;
}

/** A real network is optional: without Fabric's commands only the stand-in is tested. */
async function fabric(): Promise<Tally> {
  if (hasFabricCommands(process.env)) return judgeFabric();
  process.stderr.write('SKIPPED: the tests on a real Fabric network. `npm run test:fabric` prints what they need.\n');
  return nothing;
}

/** In the order they run: prerequisites first, then the quick ones. */
const groups: readonly Group[] = [
  code,
  withoutFiles('redis', redis),
  tests('unit', availableParallelism),
  tests('integration', filesAtOnce),
  tests('e2e', filesAtOnce, 60),
  withoutFiles('fabric', fabric),
];

/** The checks of `npm run test:slow`. */
const slowGroups: readonly Group[] = [
  { ...code, names: ['generate', 'bundles'] },
  withoutFiles('redis', redis),
  tests('browser', availableParallelism),
  tests('slow', availableParallelism, 60),
];

const script = `
const { RedisBinary } = await import('redis-memory-server');
await RedisBinary.getPath({ downloadDir: process.argv[1], version: 'stable' });
`;

/**
 * Builds Redis from source, once, for machines without it; needs the internet and a C compiler. Returns undefined on
 * success, else a short reason.
 */
async function buildRedis(): Promise<string | undefined> {
  process.stdout.write('There is no redis-server on the PATH: building one from source, once (a few minutes).\n');
  const nodeArguments = ['--input-type=module', '--eval', script, builtRedisFolder];
  const { ok, said } = await runCommand({ nodeArguments, timeoutMs: 8 * 60_000, output: 'kept' });
  if (ok) return undefined;
  return (
    said
      .split('\n')
      .find((line) => /error/i.test(line))
      ?.trim() ?? 'timeout'
  );
}

/**
 * Runs the named checks, or all of them, and prints one line with the totals. Returns the exit code: 1 if anything
 * failed, or for an unknown check.
 */
export const runChecks = (names: readonly string[]): Promise<number> => runGroups(groups, names);

/** `npm run test:slow`: the same with the tests that take minutes. */
export const runSlowChecks = (names: readonly string[]): Promise<number> => runGroups(slowGroups, names);

async function runGroups(groups: readonly Group[], names: readonly string[]): Promise<number> {
  const known = groups.flatMap((group) => group.names);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`Unknown check: ${unknown.join(', ')}. Checks: ${known.join(', ')}.\n`);
    return 1;
  }
  const tallies: Tally[] = [];
  const files: TestFile[] = [];
  const failedTests: string[] = [];
  const flakyTests: string[] = [];
  const bad: string[] = [];
  for (const group of groups) {
    const wanted = group.names.filter((name) => names.length === 0 || names.includes(name));
    if (wanted.length === 0) continue;
    process.stdout.write(`== ${wanted.join(', ')}\n`);
    const startedMs = performance.now();
    const found = await group.run(wanted);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    const failed = wanted.filter((_, index) => found[index]!.tally.failed > 0);
    const outcome = failed.length === 0 ? 'good' : `FAILED: ${failed.join(', ')}`;
    process.stdout.write(`== ${wanted.join(', ')}: ${outcome} (${seconds} s)\n`);
    tallies.push(...found.map(({ tally }) => tally));
    files.push(...found.flatMap((one) => one.files));
    failedTests.push(...found.flatMap((one) => one.failedTests));
    flakyTests.push(...found.flatMap((one) => one.flakyTests));
    bad.push(...failed);
  }
  const total = sum(tallies);
  if (flakyTests.length > 0)
    process.stdout.write(`\nFLAKY, each a defect of the test to mend:\n  ${flakyTests.join('\n  ')}\n`);
  if (files.length > 0) process.stdout.write(`\nThe slowest files of tests:\n${slowestFiles(files)}`);
  if (failedTests.length > 0) process.stdout.write(`\nFAILED tests:\n  ${failedTests.join('\n  ')}\n`);
  if (bad.length > 0)
    process.stdout.write(`\nFailed: ${bad.join(', ')}. Run them alone with: npm test -- ${bad.join(' ')}\n`);
  process.stdout.write(`\n${closingLine(total)}\n`);
  return total.failed === 0 ? 0 : 1;
}
