import { fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { recordBody, warmUpRequests } from '../bodies.ts';
import type { Row, RowLoad } from '../rows/row.ts';

export type EchoName = 'express-echo' | 'express-packages' | 'express-page';

const startWithinMs = 20_000;

/** Starts one of the yardstick servers in a process of its own under this same Node; `file` is its log, or its page. */
export async function startEchoServer(
  name: EchoName,
  file: string,
): Promise<{ readonly pid: number; readonly port: number; stop(): void }> {
  const child = fork(join(import.meta.dirname, 'echo.ts'), [name, file], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const port = await new Promise<number>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${name} did not start in time.`)), startWithinMs);
    child.once('message', (listening: { readonly port: number }) => {
      clearTimeout(timer);
      resolve(listening.port);
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

/** The row with which every section compares. */
export const EXPRESS = 'Express 5 echo';

/** A row of a yardstick under the load of single records with a key, or under the given one. */
export async function echoRow(
  context: BenchContext,
  stack: ReleaseStack,
  { name = EXPRESS, program = 'express-echo', ...more }: Partial<Row> & { program?: EchoName } = {},
): Promise<Row> {
  const server = await startEchoServer(program, join(context.folder, `${program}.log`));
  stack.own(name, () => server.stop());
  const headers = { 'Content-Type': 'application/json', 'X-Api-Key': `ingest_${'A'.repeat(43)}` };
  return {
    name,
    watch: [{ name: 'server', pid: server.pid }],
    load: { body: recordBody(), destinations: [{ port: server.port, path: '/bench', headers }] },
    warmUpRequests: warmUpRequests.single,
    ratios: { 'of Express': EXPRESS },
    ...more,
  };
}

/** What the yardstick is sent in place of these requests: the same, and nothing that its answers must say. */
export function echoed(load: RowLoad, { load: { destinations } }: Row): RowLoad {
  const { mustSay: _, requests = [], ...more } = load;
  return { ...more, destinations, requests: requests.map((request) => ({ ...request, path: destinations[0]!.path })) };
}

/** Express that answers everything with one page, by `res.json`. */
export async function startPageServer(
  { folder }: BenchContext,
  stack: ReleaseStack,
  page: string,
): Promise<{ readonly pid: number; readonly port: number }> {
  const file = join(folder, 'express-page.json');
  writeFileSync(file, page);
  const express = await startEchoServer('express-page', file);
  stack.own('Express with a page', () => express.stop());
  return express;
}
