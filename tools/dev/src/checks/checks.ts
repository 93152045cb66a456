import { findRedisServer } from '@sealgate/local-services';
import { bundleSurface } from '../../bundle.ts';
import { generateClientTypes } from '../generate-client-types.ts';
import { generateClients } from '../generate-clients.ts';
import { messageOf } from '../start/user-error.ts';
import { appsWith, programs } from '../workspace.ts';
import { buildRedis } from './build-redis.ts';
import { judgeFabric } from './fabric-checks.ts';
import { hasFabricCommands } from './fabric-network.ts';
import { runCommand, type CommandResult } from './run-command.ts';
import { runJest } from './run-jest.ts';
import { nothing, oneFailure, type Tally } from './tally.ts';

export interface Check {
  readonly name: string;
  run(): Promise<Tally>;
}

const minuteMs = 60_000;

/** A check that passes without a word, and shows what it said where it fails. */
const quiet = (name: string, work: () => Promise<CommandResult>): Check => ({
  name,
  run: async () => {
    const { ok, said } = await work();
    if (!ok) process.stderr.write(`${said}\n`);
    return ok ? nothing : oneFailure;
  },
});

const program = (
  nodeArguments: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> => runCommand({ nodeArguments, env, timeoutMs: 10 * minuteMs, output: 'kept' });

/** Without the graph of projects the rule of who may import whom says nothing at all, so it is made first. */
async function lint(): Promise<CommandResult> {
  const env = { NX_DAEMON: 'false', NX_TUI: 'false' };
  const graph = await program([programs.nx, 'show', 'projects'], env);
  if (!graph.ok) return graph;
  const result = await program([programs.eslint, '.', '--max-warnings=0'], env);
  return { ...result, ok: result.ok && !result.said.includes('The rule will be skipped') };
}

/** Of the databases, and of the surfaces' own APIs. */
async function generate(): Promise<CommandResult> {
  try {
    await generateClientTypes();
  } catch (error) {
    return { ok: false, said: messageOf(error) };
  }
  return generateClients();
}

/** The pages of the console run in browsers: they are judged with the types of those, apart from all that runs in Node. */
async function types(): Promise<CommandResult> {
  const node = await program([programs.tsc, '-p', 'tsconfig.json', '--noEmit']);
  const pages = await program([programs.tsc, '-p', 'apps/console/web/tsconfig.json', '--noEmit']);
  return { ok: node.ok && pages.ok, said: node.said + pages.said };
}

async function bundles(): Promise<CommandResult> {
  try {
    for (const name of appsWith('src/main.ts')) await bundleSurface(name);
    return { ok: true, said: '' };
  } catch (error) {
    return { ok: false, said: messageOf(error) };
  }
}

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
  quiet('generate', generate),
  quiet('format', () => program([programs.prettier, '--check', '.', '--log-level=warn'])),
  quiet('lint', lint),
  quiet('types', types),
  quiet('bundles', bundles),
  { name: 'redis', run: redis },
  { name: 'unit', run: () => runJest({ project: 'unit', workers: 2, timeoutMs: 10 * minuteMs, retryFailed: true }) },
  { name: 'browser', run: () => runJest({ project: 'browser', workers: 2, timeoutMs: 10 * minuteMs }) },
  {
    name: 'integration',
    run: () => runJest({ project: 'integration', workers: 1, timeoutMs: 25 * minuteMs, retryFailed: true }),
  },
  { name: 'e2e', run: () => runJest({ project: 'e2e', workers: 1, timeoutMs: 20 * minuteMs, retryFailed: true }) },
  { name: 'fabric', run: fabric },
];
