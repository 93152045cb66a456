import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { LoadAnswer } from './load-generator.ts';
import type { LoadPlan, LoadResult } from './load-plan.ts';

export interface Generator {
  readonly pid: number;
  /** Runs one round; never two concurrently. Rejects when the server cannot be reached or the generator dies. */
  run(plan: LoadPlan): Promise<LoadResult>;
  stop(): void;
}

export function startGenerator(): Generator {
  const child = fork(join(import.meta.dirname, 'load-generator.ts'), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
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
