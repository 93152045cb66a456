import { join } from 'node:path';
import { LocalServiceError } from '@sealgate/local-services';
import { parseBenchOptions, usage, UsageError } from './bench-options.ts';
import { releaseStack } from './bench-context.ts';
import { runBench } from './run-bench.ts';
import { workspaceRoot } from './workspace-root.ts';

/** Exit codes. 0: measured, even if targets were missed; 1: results withheld, or failed; 130: interrupted. */
async function main(): Promise<number> {
  const stack = releaseStack();
  const interruption = new AbortController();
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  const interrupt = (signal: NodeJS.Signals): void => {
    if (interruption.signal.aborted) return;
    tell(`Stopping: ${signal}`);
    interruption.abort();
    void stack.releaseAll(); // What waits for a server fails at once; what is left is released below.
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, interrupt);
  try {
    const folders = { folder: process.env['INIT_CWD'] ?? process.cwd(), dataFolder: join(workspaceRoot, 'tmp/bench') };
    const options = parseBenchOptions(process.argv.slice(2), folders);
    if (options === undefined) {
      process.stdout.write(usage);
      return 0;
    }
    const { text, trusted } = await runBench({ options, stack, signal: interruption.signal, now: Date.now, tell });
    process.stdout.write(text);
    return trusted ? 0 : 1;
  } catch (error) {
    if (interruption.signal.aborted) return 130;
    const known = error instanceof UsageError || error instanceof LocalServiceError;
    tell(known ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error));
    return 1;
  } finally {
    for (const failed of await stack.releaseAll()) tell(`Not released: ${failed}.`);
  }
}

process.exitCode = await main();
