import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Listening } from './tell-parent.ts';

export type EchoName = 'node-echo' | 'express-echo' | 'express-packages' | 'express-page';

interface EchoServer {
  readonly pid: number;
  readonly port: number;
  stop(): void;
}

const startWithinMs = 20_000;

/** Starts one of the yardstick servers in a process of its own under this same Node; `file` is its log, or its page. */
export async function startEchoServer(name: EchoName, file: string): Promise<EchoServer> {
  const child = fork(join(import.meta.dirname, `${name}.ts`), [file], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { port } = await new Promise<Listening>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${name} did not start in time.`)), startWithinMs);
    child.once('message', (message: Listening) => {
      clearTimeout(timer);
      resolve(message);
    });
    child.once('exit', (code) => reject(new Error(`${name} ended with exit code ${code} before it listened.`)));
  });
  return {
    pid: child.pid ?? 0,
    port,
    stop: () => {
      if (child.connected) child.disconnect();
    },
  };
}
