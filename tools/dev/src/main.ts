import { join, resolve } from 'node:path';
import { runTool } from './checks/run-command.ts';
import { UserError } from './start/user-error.ts';
import { workspaceRoot } from './workspace.ts';

/** Returns the exit code. */
type Command = (parameters: readonly string[]) => Promise<number>;

const tool =
  (name: string, ...first: readonly string[]): Command =>
  (parameters) =>
    runTool(join(workspaceRoot, `tools/${name}/src/main.ts`), [...first, ...parameters]);

/**
 * Each command loads its own modules only: `bundle` and `generate` run once for each app, and those of `npm start` take
 * a second of CPU to load.
 */
const COMMANDS: Readonly<Record<string, Command>> = {
  start: async (parameters) => (await import('./start/run-start.ts')).runStart(parameters),
  stop: async (parameters) => (await import('./start/run-stop.ts')).runStop(parameters),
  test: async (parameters) => (await import('./checks/checks.ts')).runChecks(parameters),
  'test:slow': async (parameters) => (await import('./checks/checks.ts')).runSlowChecks(parameters),
  'test:fabric': async (parameters) => (await import('./checks/fabric-checks.ts')).runFabricChecks(parameters),
  bench: tool('bench'),
  capacity: tool('capacity'),
  'soak:fabric': async (parameters) => (await import('./checks/fabric-checks.ts')).runFabricSoak(parameters),
  chaos: async (parameters) => (await import('./checks/run-chaos.ts')).runChaos(parameters),
  'request-files': async (parameters) => (await import('./request-files.ts')).countRequestFiles(parameters),
  /** Builds `dist` of an app; `client`: the published package. */
  async bundle(names) {
    if (names.includes('client')) await (await import('../package-client.ts')).packageClient();
    const { buildSurface } = await import('./surfaces/bundled.ts');
    for (const name of names.filter((one) => one !== 'client')) await buildSurface(name);
    return 0;
  },
  /** `start-bundles <folder>`: builds there what `npm start` runs, where it has changed. */
  async 'start-bundles'([folder = '']) {
    const { startedBundles } = await import('./start/run-start.ts');
    await startedBundles(resolve(folder));
    return 0;
  },
  /** `image <name> <folder>`: builds the files of an image without its base, as docker/Dockerfile copies them. */
  async image([name = '', folder = '']) {
    const { makeImageTree } = await import('./release/image-tree.ts');
    try {
      await makeImageTree(name, resolve(folder));
      return 0;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      process.stderr.write(`${error.message}\n`);
      return 1;
    }
  },
  /** Generates the database client of an app; `client`: the types of the client. */
  async generate(names) {
    const { generateClients, generateClientTypes } = await import('./generate-clients.ts');
    if (names.includes('client')) await generateClientTypes();
    const { ok, said } = await generateClients(names.filter((name) => name !== 'client'));
    if (!ok) process.stderr.write(said);
    return ok ? 0 : 1;
  },
  release: async (parameters) => (await import('./release/run-release.ts')).runRelease(parameters),
  async docs() {
    const place = await (await import('./site/build-site.ts')).buildSite();
    process.stdout.write(`The site is in ${place}.\n`);
    return 0;
  },
  /** Takes the pictures of README and guides anew. */
  async pictures() {
    const { runJest } = await import('./checks/run-jest.ts');
    const env = { UPDATE_DOCUMENTS: '1' };
    const run = { project: 'slow', paths: ['apps/e2e/src/console/pictures'], workers: 1, timeoutMs: 1_200_000, env };
    const { tally } = await runJest(run);
    return tally.failed === 0 && tally.passed > 0 ? 0 : 1;
  },
  'fabric:up': tool('fabric-devnet', 'up'),
  'fabric:down': tool('fabric-devnet', 'down'),
  'fabric:status': tool('fabric-devnet', 'status'),
};

const usage: Command = () => {
  process.stderr.write(`Usage: bootstrap.mjs ${Object.keys(COMMANDS).join(' | ')} [options]\n`);
  return Promise.resolve(1);
};

const [name = '', ...parameters] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]! : usage;
process.exitCode = await command(parameters);
