import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { postPatiently } from './post-patiently.ts';

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

/** Posts to an API that gives these answers in turn. */
async function posted(...statuses: readonly number[]) {
  const left = [...statuses];
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(left.shift()!, { 'Retry-After': '0' }).end('{"code":"C"}');
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return postPatiently(`http://127.0.0.1:${port}/`, { headers: {}, body: {} });
}

it('repeats a post until it is neither limited nor unavailable', async () => {
  expect(await posted(429, 429, 201)).toEqual({ status: 201, members: { code: 'C' }, mayRepeat: false });
});

it('says that an attempt may have had its effect where one was answered 503', async () => {
  expect(await posted(503, 429, 409)).toMatchObject({ status: 409, mayRepeat: true });
});
