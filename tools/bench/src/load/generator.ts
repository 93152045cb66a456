import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { LoadPlan, LoadResult } from './load-plan.ts';

/** A process that generates load: one of its own, so that its cost is not counted as a server's. */
export interface Generator {
  readonly pid: number;
  /** Runs one round; never two concurrently. Rejects when the server cannot be reached or the generator dies. */
  run(plan: LoadPlan): Promise<LoadResult>;
  stop(): void;
}

/** The generator's reply to its parent about one plan. */
type LoadAnswer = { readonly result: LoadResult } | { readonly problem: string };

/** Starts a program that calls `serveLoad`; the default sends HTTP requests. */
export function startGenerator(
  program = join(import.meta.dirname, 'http-load.ts'),
  parameters: readonly string[] = [],
): Generator {
  const child = fork(program, parameters, {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced', // Bodies may be bytes.
  });
  const run = (plan: LoadPlan): Promise<LoadResult> =>
    new Promise((resolve, reject) => {
      const died = (): void => reject(new Error('The load generator died.'));
      child.once('exit', died);
      child.once('message', (answer: LoadAnswer) => {
        child.off('exit', died);
        if ('result' in answer) resolve(answer.result);
        else reject(new Error(`The load generator could not run: ${answer.problem}`));
      });
      child.send(plan, (error) => error !== null && reject(error));
    });
  return {
    pid: child.pid ?? 0,
    run,
    stop: () => {
      if (child.connected) child.disconnect();
    },
  };
}

/** Runs in the generator's process: answers every plan of the parent, and ends with the parent. */
export function serveLoad(run: (plan: LoadPlan) => Promise<LoadResult>): void {
  const answer = (message: LoadAnswer): void => void process.send?.(message);
  process.on('message', (plan: LoadPlan) => {
    run(plan).then(
      (result) => answer({ result }),
      (error: unknown) => answer({ problem: error instanceof Error ? error.message : String(error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
  // A terminal's signals go to the whole group; the parent stops this process after collecting its results.
  process.on('SIGINT', () => undefined);
}
