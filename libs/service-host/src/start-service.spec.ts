import { Agent } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { isListening, LOCAL, servedApp } from '../test/served-app.ts';
import { get, hello, portOf, start, stopServices } from '../test/started-service.ts';

afterEach(stopServices);

describe('starting', () => {
  it('opens the public and the ops listener, and no admin listener unless it has a port', async () => {
    const service = await start({
      compose: async () => ({ publicApp: hello(), adminApp: hello(), ready: () => ({ ok: true }) }),
    });
    expect((await get(service.publicUrl)).text).toBe('hello');
    expect((await get(`${service.opsUrl}/ready`)).status).toBe(200);
    expect((await get(`${service.opsUrl}/startup`)).status).toBe(200);
    expect(service.adminUrl).toBeUndefined();
  });

  it('opens the admin listener if it has a port', async () => {
    const adminApp = servedApp((_, response) => void response.end('admin'));
    const service = await start({
      config: { ...LOCAL, adminPort: 0 },
      compose: async () => ({ publicApp: hello(), adminApp, ready: () => ({ ok: true }) }),
    });
    expect((await get(service.adminUrl ?? '')).text).toBe('admin');
  });

  it('opens further public listeners, and names the variable of a port that is in use', async () => {
    const port = await freePort();
    const mcp = servedApp((_, response) => void response.end('mcp'));
    const further = [{ app: mcp, port, portVariable: 'MCP_PORT' }];
    const compose = async () => ({ publicApp: hello(), further, ready: () => ({ ok: true }) });
    const service = await start({ compose });
    expect((await get(`http://127.0.0.1:${port}`)).text).toBe('mcp');
    expect((await get(service.publicUrl)).text).toBe('hello');
    await expect(start({ compose })).rejects.toThrow('MCP_PORT');
    await service.stop();
    expect(await isListening(port)).toBe(false);
  });

  it("passes the host's checks to the surface, for its own health routes", async () => {
    const told: unknown[] = [];
    let ask = async (): Promise<void> => undefined;
    await start({
      compose: async (_own, checks) => {
        ask = async () => void told.push(await checks.ready());
        await ask();
        return { publicApp: hello(), ready: () => ({ ok: true }) };
      },
    });
    await ask();
    expect(told).toEqual([{ ok: false, body: { status: 'starting' } }, { ok: true }]);
  });

  it('answers probes during the start, before it accepts traffic', async () => {
    const ops = await freePort();
    const traffic = await freePort();
    let finish: () => void = () => undefined;
    const composed = new Promise<void>((resolve) => (finish = resolve));
    const starting = start({
      config: { ...LOCAL, opsPort: ops, port: traffic },
      compose: async () => {
        await composed;
        return { publicApp: hello(), ready: () => ({ ok: true }) };
      },
    });
    await until(() => isListening(ops));
    expect(await get(`http://127.0.0.1:${ops}/startup`)).toMatchObject({
      status: 503,
      text: '{"body":{"status":"starting"}}',
    });
    expect((await get(`http://127.0.0.1:${ops}/ready`)).status).toBe(503);
    expect(await isListening(traffic)).toBe(false);
    finish();
    const service = await starting;
    expect((await get(`${service.opsUrl}/ready`)).status).toBe(200);
  });

  it('passes on the checks of the service', async () => {
    const service = await start({
      compose: async () => ({
        publicApp: hello(),
        ready: () => ({ ok: false, body: { reason: 'no database' } }),
        startup: () => ({ ok: false }),
      }),
    });
    expect(await get(`${service.opsUrl}/ready`)).toMatchObject({
      status: 503,
      text: '{"body":{"reason":"no database"}}',
    });
    expect((await get(`${service.opsUrl}/startup`)).status).toBe(503);
  });

  it('releases in reverse and closes all listeners on failure', async () => {
    const ops = await freePort();
    const released: string[] = [];
    const failing = start({
      config: { ...LOCAL, opsPort: ops },
      compose: async (own) => {
        own('first', () => void released.push('first'));
        own('second', () => void released.push('second'));
        throw new Error('no database');
      },
    });
    await expect(failing).rejects.toThrow('no database');
    expect(released).toEqual(['second', 'first']);
    expect(await isListening(ops)).toBe(false);
  });

  it.each(['port', 'opsPort', 'adminPort'] as const)('reports in one sentence that %s is in use', async (name) => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const { port } = blocker.address() as AddressInfo;
    const failing = start({
      config: { ...LOCAL, [name]: port },
      compose: async () => ({ publicApp: hello(), adminApp: hello(), ready: () => ({ ok: true }) }),
    });
    const variable = { port: 'PORT', opsPort: 'OPS_PORT', adminPort: 'ADMIN_PORT' }[name];
    const sentence = `127.0.0.1:${port} is in use by another process: stop it, or set ${variable} to a free port.`;
    await expect(failing).rejects.toMatchObject({ name: 'StartError', message: sentence });
    blocker.close();
  });

  it('reports an address that is not of this machine', async () => {
    await expect(start({ config: { ...LOCAL, opsHost: '192.0.2.1' } })).rejects.toThrow(
      /192\.0\.2\.1 is not an address/,
    );
  });

  it.each<[string, object]>([
    ['HOST', { host: '0.0.0.0' }],
    ['HOST', { host: '::' }],
    ['ADMIN_HOST', { adminHost: '0.0.0.0', adminPort: 0 }],
  ])('refuses to listen off loopback without TLS: %s', async (variable, changes) => {
    const failing = start({ config: { ...LOCAL, ...changes } });
    await expect(failing).rejects.toThrow(new RegExp(`^${variable} can be reached from other machines`));
  });

  it('listens off loopback if a proxy terminates TLS', async () => {
    const service = await start({ config: { ...LOCAL, host: '0.0.0.0', tlsTerminatedUpstream: true } });
    expect((await get(`http://127.0.0.1:${portOf(service.publicUrl)}`)).text).toBe('hello');
  });
});

describe('stopping', () => {
  it('releases everything in reverse, even if a release fails or hangs', async () => {
    const released: string[] = [];
    const service = await start({
      releaseTimeoutMs: 20,
      compose: async (own) => {
        own('first', () => void released.push('first'));
        own('hanging', () => new Promise(() => undefined));
        own('failing', () => {
          throw new Error('cannot release');
        });
        own('last', async () => void released.push('last'));
        return { publicApp: hello(), ready: () => ({ ok: true }) };
      },
    });
    await service.stop();
    expect(released).toEqual(['last', 'first']);
    expect(service.lines.filter(({ event }) => event === 'release_failed')).toMatchObject([
      { level: 'error', fields: { name: 'failing', reason: expect.stringContaining('cannot release') } },
      { level: 'error', fields: { name: 'hanging', reason: 'took longer than 20 ms' } },
    ]);
    expect(await isListening(portOf(service.publicUrl))).toBe(false);
    expect(await isListening(portOf(service.opsUrl))).toBe(false);
  });

  it('finishes requests in flight while not ready, then releases', async () => {
    const events: string[] = [];
    let answer: (() => void) | undefined;
    const publicApp = servedApp((_, response) => {
      answer = () => {
        events.push('answered');
        response.end('late');
      };
    });
    const service = await start({
      compose: async (own) => {
        own('store', () => void events.push('released'));
        return { publicApp, ready: () => ({ ok: true }) };
      },
    });
    const inFlight = get(service.publicUrl, { agent: new Agent({ keepAlive: true }) });
    await until(() => answer !== undefined);
    const stopping = service.stop();
    expect(service.stop()).toBe(stopping);
    await until(async () => !(await isListening(portOf(service.publicUrl))));
    expect(await get(`${service.opsUrl}/ready`)).toMatchObject({ status: 503, text: '{"body":{"status":"draining"}}' });
    answer?.();
    expect((await inFlight).text).toBe('late');
    await stopping;
    expect(events).toEqual(['answered', 'released']);
  });

  it('keeps answering during DRAIN_DELAY_MS, closing each connection', async () => {
    const service = await start({ config: { ...LOCAL, drainDelayMs: 400 } });
    const agent = new Agent({ keepAlive: true });
    expect((await get(service.publicUrl, { agent })).connection).toBe('keep-alive');
    const stopping = service.stop();
    await until(async () => (await get(`${service.opsUrl}/ready`)).status === 503);
    expect(await get(service.publicUrl, { agent })).toMatchObject({ status: 200, connection: 'close' });
    await stopping;
  });

  it('does not wait for idle connections', async () => {
    const service = await start();
    const socket = connect(portOf(service.publicUrl), '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const agent = new Agent({ keepAlive: true });
    await get(service.publicUrl, { agent });
    const started = performance.now();
    await service.stop();
    expect(performance.now() - started).toBeLessThan(2_000);
    socket.destroy();
  });

  it('closes connections at the drain timeout', async () => {
    const service = await start({
      config: { ...LOCAL, drainTimeoutMs: 30 },
      compose: async () => ({ publicApp: servedApp(() => undefined), ready: () => ({ ok: true }) }),
    });
    const inFlight = get(service.publicUrl).catch((error: Error) => error.message);
    await until(async () => (await get(`${service.opsUrl}/ready`)).status === 200);
    const socket = connect(portOf(service.publicUrl), '127.0.0.1', () =>
      socket.write('GET / HTTP/1.1\r\nHost: t\r\n\r\n'),
    );
    socket.on('error', () => undefined);
    await until(() => socket.bytesWritten > 0);
    await service.stop();
    expect(await inFlight).toMatch(/hang up|ECONNRESET/);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
