import { join } from 'node:path';
import { runFabricChecks } from './checks/fabric-checks.ts';
import { runChecks } from './checks/run-checks.ts';
import { runSoak } from './checks/run-soak.ts';
import { runFabricDemo } from './fabric-demo/run-fabric-demo.ts';
import { runStart } from './start/run-start.ts';
import { runStop } from './start/run-stop.ts';
import { runTool } from './run-tool.ts';
import { runTour } from './tour/run-tour.ts';
import { buildSurface } from './surfaces/bundled.ts';
import { workspaceRoot } from './workspace.ts';

const [command, ...parameters] = process.argv.slice(2);

/** Each command gives its exit code. */
async function run(): Promise<number> {
  switch (command) {
    case 'start':
      return runStart(parameters);
    case 'stop':
      return runStop(parameters);
    case 'test':
      return runChecks(parameters);
    case 'test:fabric':
      return runFabricChecks(parameters);
    case 'bench':
      return runTool(join(workspaceRoot, 'tools/bench/src/main.ts'), parameters);
    case 'fabric:up':
    case 'fabric:down':
    case 'fabric:status':
      return runTool(join(workspaceRoot, 'tools/fabric-devnet/src/main.ts'), [command.slice(7), ...parameters]);
    case 'soak:gate':
      return runSoak(parameters);
    case 'fabric:demo':
      return runFabricDemo(parameters);
    case 'tour':
      return runTour(parameters);
    case 'bundle':
      for (const name of parameters) await buildSurface(name);
      return 0;
    default:
      process.stderr.write(
        'Usage: bootstrap.mjs start | stop | test | test:fabric | bench | soak:gate | tour | bundle | fabric:up | fabric:down | fabric:status | fabric:demo [options]\n',
      );
      return 1;
  }
}

process.exitCode = await run();
