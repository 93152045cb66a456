import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { isPortFree } from '@sealgate/local-services';
import { freePortBase } from './free-port-base.ts';
import { highestPortOffset } from './network-plan.ts';

const servers: Server[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

describe('a port base for a temporary network', () => {
  it('has only free ports, and skips a range with a port in use', async () => {
    const random = (): number => 0.5;
    const base = await freePortBase(random);
    for (const offset of [1, 13, highestPortOffset]) expect(await isPortFree(base + offset)).toBe(true);
    const server = createServer();
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(base + highestPortOffset, '127.0.0.1', resolve));
    const next = await freePortBase(random);
    expect(next).not.toBe(base);
    expect(next + highestPortOffset).toBeLessThan(32_768);
  });
});
