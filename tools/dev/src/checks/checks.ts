import { availableParallelism } from 'node:os';
import { builtRedisFolder, findRedisServer } from '@sealgate/local-services';
import { programs } from '../workspace.ts';
import { hasFabricCommands, judgeFabric } from './fabric-checks.ts';
import { type CommandResult, runCommand } from './run-command.ts';
import { runJest } from './run-jest.ts';
import { clearTallies, closingLine, nothing, oneFailure, sum, talliesOf, type Tally } from './tally.ts';

export interface Check {
  readonly name: string;
  run(): Promise<Tally>;
}

const minuteMs = 60_000;

/** Tests on real services wait for them half of the time, so two cores run three files at once. */
const workers = Math.min(3, availableParallelism() + 1);

/** An Nx target whose output is shown only on failure. */
const quiet = (name: string, target: string): Check => ({
  name,
  run: async () => {
    const { ok, said } = await runTarget(target, 'kept');
    // Without the project graph the rule of module boundaries is skipped, with this message.
    const isGood = ok && !said.includes('The rule will be skipped');
    if (!isGood) process.stderr.write(`${said}\n`);
    return isGood ? nothing : oneFailure;
  },
});

/** Unit tests of all projects, each an Nx task. Nx reruns only those with changed files or changed dependencies. */
const unitTests = (name: string, target: string): Check => ({
  name,
  run: async () => {
    clearTallies(name);
    const { ok } = await runTarget(target, 'shown');
    const tally = sum(talliesOf(name));
    return ok || tally.failed > 0 ? tally : { ...tally, failed: 1 };
  },
});

const runTarget = (target: string, output: 'kept' | 'shown'): Promise<CommandResult> =>
  runCommand({
    nodeArguments: [programs.nx, 'run-many', '-t', target, '--outputStyle=static'],
    env: { NX_DAEMON: 'false', NX_TUI: 'false' },
    timeoutMs: 20 * minuteMs,
    output,
  });

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
export const checks: readonly Check[] = [
  quiet('generate', 'generate'),
  quiet('format', 'format'),
  // In one process, which loads the types of the workspace once: per project it takes five times as long.
  quiet('lint', 'lint-workspace'),
  quiet('types', 'types'),
  quiet('bundles', 'build'),
  { name: 'redis', run: redis },
  unitTests('unit', 'test'),
  unitTests('browser', 'browser'),
  {
    name: 'integration',
    run: () => runJest({ project: 'integration', workers, timeoutMs: 25 * minuteMs, retryFailed: true }),
  },
  { name: 'e2e', run: () => runJest({ project: 'e2e', workers, timeoutMs: 30 * minuteMs, retryFailed: true }) },
  { name: 'fabric', run: fabric },
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
  const known = checks.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`Unknown check: ${unknown.join(', ')}. Checks: ${known.join(', ')}.\n`);
    return 1;
  }
  const tallies: Tally[] = [];
  const bad: string[] = [];
  for (const check of checks) {
    if (names.length > 0 && !names.includes(check.name)) continue;
    process.stdout.write(`== ${check.name}\n`);
    const startedMs = performance.now();
    const tally = await check.run();
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    process.stdout.write(`== ${check.name}: ${tally.failed === 0 ? 'good' : 'FAILED'} (${seconds} s)\n`);
    tallies.push(tally);
    if (tally.failed > 0) bad.push(check.name);
  }
  const total = sum(tallies);
  if (bad.length > 0)
    process.stdout.write(`\nFailed: ${bad.join(', ')}. Run them alone with: npm test -- ${bad.join(' ')}\n`);
  process.stdout.write(`\n${closingLine(total)}\n`);
  return total.failed === 0 ? 0 : 1;
}
