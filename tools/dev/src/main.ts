import { join } from 'node:path';
import { runChecks } from './checks/run-checks.ts';
import { runStart } from './start/run-start.ts';
import { runStop } from './start/run-stop.ts';
import { runTool } from './run-tool.ts';
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
    case 'bench':
      return runTool(join(workspaceRoot, 'tools/bench/src/main.ts'), parameters);
    case 'bundle':
      for (const name of parameters) await buildSurface(name);
      return 0;
    default:
      process.stderr.write('Usage: bootstrap.mjs start | stop | test | bench | bundle [options]\n');
      return 1;
  }
}

process.exitCode = await run();
