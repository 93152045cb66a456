import { availableParallelism } from 'node:os';
import { findRedisServer } from '@sealgate/local-services';
import { programs } from '../workspace.ts';
import { buildRedis } from './build-redis.ts';
import { judgeFabric } from './fabric-checks.ts';
import { hasFabricCommands } from './fabric-network.ts';
import { runCommand, type CommandResult } from './run-command.ts';
import { runJest } from './run-jest.ts';
import { clearTallies, nothing, oneFailure, sum, talliesOf, type Tally } from './tally.ts';

export interface Check {
  readonly name: string;
  run(): Promise<Tally>;
}

const minuteMs = 60_000;

/** Tests on real services wait for them much of the time: two files at once, where there are two cores. */
const workers = Math.min(2, availableParallelism());

/** A target of Nx that passes without a word, and shows what it said where it fails. */
const quiet = (name: string, target: string): Check => ({
  name,
  run: async () => {
    const { ok, said } = await runTarget(target, 'kept');
    // Without the graph of projects the rule of who may import whom is skipped, and says so.
    const isGood = ok && !said.includes('The rule will be skipped');
    if (!isGood) process.stderr.write(`${said}\n`);
    return isGood ? nothing : oneFailure;
  },
});

/** Unit tests of every project, each a task of Nx. Nx runs again only those whose files, or files they import, changed. */
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

/** Redis is not needed to run the product, but tests that skip it prove less: where CI is set, that is a failure. */
async function redis(): Promise<Tally> {
  if (findRedisServer() !== undefined) return nothing;
  const problem = await buildRedis();
  if (problem === undefined) return nothing;
  process.stderr.write(`There is no redis-server on the PATH, and none could be built (${problem}).\n`);
  process.stderr.write(
    'Tests that need one are skipped. Install it with: apt-get install redis-server, or brew install redis\n',
  );
  return process.env['CI'] === 'true' ? oneFailure : nothing;
}

/** A real network is not needed to run the product: where Fabric's commands are missing, the stand-in has to do. */
async function fabric(): Promise<Tally> {
  if (hasFabricCommands(process.env)) return judgeFabric();
  process.stderr.write('SKIPPED: the stories on a real Fabric network. `npm run test:fabric` says what they need.\n');
  return nothing;
}

/** In the order they run: what the later ones need comes first, then the quick ones. */
export const checks: readonly Check[] = [
  quiet('generate', 'generate'),
  quiet('format', 'format'),
  // In one process, which reads the types of the workspace once: by projects it takes five times as long.
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
