import { join, resolve } from 'node:path';
import { runChecks } from './checks/checks.ts';
import { runFabricChecks } from './checks/fabric-checks.ts';
import { runTool } from './checks/run-command.ts';
import { runFailovers, runRestores, runSoak } from './checks/run-soak.ts';
import { generateClients, generateClientTypes } from './generate-clients.ts';
import { makeImageTree } from './release/image-tree.ts';
import { countRequestFiles } from './request-files.ts';
import { runFabricDemo } from './run-fabric-demo.ts';
import { runStart } from './start/run-start.ts';
import { runStop } from './start/run-stop.ts';
import { UserError } from './start/user-error.ts';
import { buildSurface } from './surfaces/bundled.ts';
import { runTour } from './tour/run-tour.ts';
import { workspaceRoot } from './workspace.ts';

/** Returns the exit code. */
type Command = (parameters: readonly string[]) => Promise<number>;

const tool =
  (name: string, ...first: readonly string[]): Command =>
  (parameters) =>
    runTool(join(workspaceRoot, `tools/${name}/src/main.ts`), [...first, ...parameters]);

const COMMANDS: Readonly<Record<string, Command>> = {
  start: runStart,
  stop: runStop,
  test: runChecks,
  'test:fabric': runFabricChecks,
  bench: tool('bench'),
  capacity: tool('capacity'),
  'soak:gate': runSoak,
  'soak:failover': runFailovers,
  'soak:restore': runRestores,
  tour: runTour,
  'request-files': countRequestFiles,
  /** Builds `dist` of an app; `client`: the published package. */
  async bundle(names) {
    if (names.includes('client')) await (await import('../package-client.ts')).packageClient();
    for (const name of names.filter((one) => one !== 'client')) await buildSurface(name);
    return 0;
  },
  /** `image <name> <folder>`: builds the files of an image without its base, as docker/Dockerfile copies them. */
  async image([name = '', folder = '']) {
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
    if (names.includes('client')) await generateClientTypes();
    const { ok, said } = await generateClients(names.filter((name) => name !== 'client'));
    if (!ok) process.stderr.write(said);
    return ok ? 0 : 1;
  },
  // Loaded on demand: packaging the client needs large modules, and `npm start` runs for days.
  release: async (parameters) => (await import('./release/run-release.ts')).runRelease(parameters),
  async docs() {
    const place = await (await import('./site/build-site.ts')).buildSite();
    process.stdout.write(`The site is in ${place}.\n`);
    return 0;
  },
  'fabric:up': tool('fabric-devnet', 'up'),
  'fabric:down': tool('fabric-devnet', 'down'),
  'fabric:status': tool('fabric-devnet', 'status'),
  'fabric:demo': runFabricDemo,
  'mcp:inspect': tool('mcp-check', 'inspect'),
  'mcp:conformance': tool('mcp-check', 'conformance'),
};

const usage: Command = () => {
  process.stderr.write(`Usage: bootstrap.mjs ${Object.keys(COMMANDS).join(' | ')} [options]\n`);
  return Promise.resolve(1);
};

const [name = '', ...parameters] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]! : usage;
process.exitCode = await command(parameters);
