import { availableParallelism } from 'node:os';
import { stripVTControlCharacters } from 'node:util';
import { builtRedisFolder, findRedisServer } from '@sealgate/local-services';
import { programs } from '../workspace.ts';
import { hasFabricCommands, judgeFabric } from './fabric-checks.ts';
import { type CommandResult, runCommand } from './run-command.ts';
import { runJest } from './run-jest.ts';
import { clearTallies, closingLine, nothing, oneFailure, sum, talliesOf, type Tally } from './tally.ts';

/** Checks that run together; each can be named alone. */
interface Group {
  readonly names: readonly string[];
  /** Runs the named checks; returns a tally for each. */
  run(names: readonly string[]): Promise<readonly Tally[]>;
}

const minuteMs = 60_000;

/** Tests on real services wait for them half of the time, so two cores run three files at once. */
const workers = Math.min(3, availableParallelism() + 1);

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
    const { ok, said } = await runTargets(targets, 'kept');
    // Without the project graph the rule of module boundaries is skipped, with this message.
    const isSkipped = said.includes('The rule will be skipped');
    if (ok && !isSkipped) return names.map(() => nothing);
    process.stderr.write(`${said}\n`);
    const failed = new Set([...unfinishedTargets(said), ...(isSkipped ? ['lint-workspace'] : [])]);
    // If Nx itself fails, it lists no task.
    const isListed = targets.some((target) => failed.has(target));
    return targets.map((target) => (!isListed || failed.has(target) ? oneFailure : nothing));
  },
};

const testTargets: Readonly<Record<string, string>> = { unit: 'test', browser: 'browser' };

/** Unit tests of all projects, each an Nx task. Nx reruns only those with changed files or changed dependencies. */
const unitTests: Group = {
  names: Object.keys(testTargets),
  async run(names) {
    for (const name of names) clearTallies(name);
    const { ok } = await runTargets(
      names.map((name) => testTargets[name]!),
      'shown',
    );
    const tallies = names.map((name) => sum(talliesOf(name)));
    return ok || tallies.some(({ failed }) => failed > 0) ? tallies : tallies.map((one) => ({ ...one, failed: 1 }));
  },
};

const runTargets = (targets: readonly string[], output: 'kept' | 'shown'): Promise<CommandResult> =>
  runCommand({
    nodeArguments: [programs.nx, 'run-many', '-t', ...targets, '--outputStyle=static'],
    env: { NX_DAEMON: 'false', NX_TUI: 'false' },
    timeoutMs: 20 * minuteMs,
    output,
  });

/** The targets of the tasks that Nx lists at its end: `- project:target`, failed or not run because another failed. */
export const unfinishedTargets = (said: string): string[] =>
  [...stripVTControlCharacters(said).matchAll(/^\s*- [\w-]+:([\w-]+)$/gm)].map(([, target = '']) => target);

const single = (name: string, run: () => Promise<Tally>): Group => ({ names: [name], run: async () => [await run()] });

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
  single('redis', redis),
  unitTests,
  single('integration', () =>
    runJest({ project: 'integration', workers, timeoutMs: 25 * minuteMs, retryFailed: true }),
  ),
  single('e2e', () => runJest({ project: 'e2e', workers, timeoutMs: 30 * minuteMs, retryFailed: true })),
  single('fabric', fabric),
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
export async function runChecks(names: readonly string[]): Promise<number> {
  const known = groups.flatMap((group) => group.names);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`Unknown check: ${unknown.join(', ')}. Checks: ${known.join(', ')}.\n`);
    return 1;
  }
  const tallies: Tally[] = [];
  const bad: string[] = [];
  for (const group of groups) {
    const wanted = group.names.filter((name) => names.length === 0 || names.includes(name));
    if (wanted.length === 0) continue;
    process.stdout.write(`== ${wanted.join(', ')}\n`);
    const startedMs = performance.now();
    const found = await group.run(wanted);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    const failed = wanted.filter((_, index) => found[index]!.failed > 0);
    const outcome = failed.length === 0 ? 'good' : `FAILED: ${failed.join(', ')}`;
    process.stdout.write(`== ${wanted.join(', ')}: ${outcome} (${seconds} s)\n`);
    tallies.push(...found);
    bad.push(...failed);
  }
  const total = sum(tallies);
  if (bad.length > 0)
    process.stdout.write(`\nFailed: ${bad.join(', ')}. Run them alone with: npm test -- ${bad.join(' ')}\n`);
  process.stdout.write(`\n${closingLine(total)}\n`);
  return total.failed === 0 ? 0 : 1;
}
