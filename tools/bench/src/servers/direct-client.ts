import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { DirectAnswer, DirectPlan, DirectResult } from './fabric-direct-plan.ts';

export interface DirectClient {
  /** Runs one round; never two concurrently. Rejects when the network cannot be reached or the client dies. */
  run(plan: DirectPlan): Promise<DirectResult>;
  stop(): void;
}

export function startDirectClient(): DirectClient {
  const child = fork(join(import.meta.dirname, 'fabric-direct.ts'), {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const run = (plan: DirectPlan): Promise<DirectResult> =>
    new Promise((resolve, reject) => {
      const died = (): void => reject(new Error('The direct client died.'));
      child.once('exit', died);
      child.once('message', (answer: DirectAnswer) => {
        child.off('exit', died);
        if ('result' in answer) resolve(answer.result);
        else reject(new Error(`The direct client could not run: ${answer.problem}`));
      });
      child.send(plan, (error) => error !== null && reject(error));
    });
  return {
    run,
    stop: () => {
      if (child.connected) child.disconnect();
    },
  };
}
