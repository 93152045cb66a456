import { spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { readProjectFile } from '../rules/project-files.ts';

/** The script of `helm test`, run as its pod runs it. */
const program = readProjectFile('infra/helm/files/check.mjs');
const servers: Server[] = [];

/** Answers with each status in turn, then with the last one. */
async function serve(statuses: number | readonly number[], body: string): Promise<string> {
  const [...turns] = [statuses].flat();
  const server = createServer((_request, response) => {
    response.writeHead((turns.length > 1 ? turns.shift() : turns[0]) ?? 500).end(body);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Asynchronous: the servers that it calls are in this process. */
function check(env: Record<string, string>, waitSeconds = 0): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...env, WAIT_SECONDS: String(waitSeconds) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, said })));
}

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const problem = '{"type":"urn:sealgate:problem:not-found"}';

it('passes if every process is ready and the public listener answers like ours', async () => {
  const env = { OPS: await serve(200, '{"status":"ready"}'), PUBLIC: await serve(404, problem) };
  expect(await check(env)).toMatchObject({ code: 0, said: expect.stringContaining('127.0.0.1 ready: 200') });
});

it('fails with the reason of a process that is not ready', async () => {
  const env = { OPS: await serve(503, '{"status":"starting"}'), PUBLIC: await serve(404, problem) };
  expect(await check(env)).toMatchObject({ code: 1, said: expect.stringContaining('503 {"status":"starting"}') });
});

it('waits for a process that still drains or starts', async () => {
  const env = { OPS: await serve([503, 503, 200], '{}'), PUBLIC: await serve(404, problem) };
  expect(await check(env, 30)).toMatchObject({ code: 0, said: expect.stringContaining('127.0.0.1 ready: 200') });
});

it('fails if another server answers, or none', async () => {
  const ops = await serve(200, '{}');
  expect(await check({ OPS: ops, PUBLIC: await serve(404, '<html>') })).toMatchObject({ code: 1 });
  expect(await check({ OPS: ops, PUBLIC: 'http://127.0.0.1:1' })).toMatchObject({ code: 1 });
  expect(await check({ OPS: 'http://nowhere.invalid:1', PUBLIC: await serve(404, problem) })).toMatchObject({
    code: 1,
  });
});
