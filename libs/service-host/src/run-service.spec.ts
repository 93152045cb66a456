import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';

const SERVICE = join(import.meta.dirname, '../test/service-process.ts');

/** One service in its own process. */
function run(env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [SERVICE], {
    env: { PATH: process.env['PATH'], PORT: '0', OPS_PORT: '0', ...env },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => (stdout += String(data)));
  child.stderr.on('data', (data) => (stderr += String(data)));
  const ended = new Promise<{
    code: number | null;
    events: string[];
    lines: Record<string, unknown>[];
    stderr: string;
  }>((resolve) =>
    child.on('close', (code) => {
      const lines: Record<string, unknown>[] = stdout
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
      resolve({ code, lines, events: lines.map(({ event }) => String(event)), stderr });
    }),
  );
  const publicUrl = async () => {
    await until(() => /"publicUrl":"([^"]+)"/.test(stdout), { timeoutMs: 20_000, what: 'the service to start' });
    return /"publicUrl":"([^"]+)"/.exec(stdout)?.[1] ?? '';
  };
  return { child, ended, publicUrl };
}

describe('a service process', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'on %s finishes requests in flight, releases, and exits with 0',
    async (signal) => {
      const { child, ended, publicUrl } = run();
      const url = await publicUrl();
      const inFlight = fetch(`${url}/slow`).then((response) => response.text());
      // The slow request has been received once one sent after it is answered.
      await fetch(url).then((response) => response.text());
      child.kill(signal);
      expect(await inFlight).toBe('answered');
      const { code, events, stderr } = await ended;
      const stopping = ['service_stopping', 'store_released', 'service_stopped'];
      expect(events).toEqual(['service_starting', 'service_started', ...stopping]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    },
  );

  it('exits at once on a second signal', async () => {
    const { child, ended, publicUrl } = run();
    const inFlight = fetch(`${await publicUrl()}/slow`).catch(() => 'cut');
    await fetch(await publicUrl()).then((response) => response.text());
    child.kill('SIGTERM');
    child.kill('SIGINT');
    expect((await ended).code).toBe(1);
    await inFlight;
  });

  it('stops while it is still starting', async () => {
    const ops = await freePort();
    const { child, ended } = run({ TEST_CASE: '2', OPS_PORT: String(ops) });
    const probe = () =>
      fetch(`http://127.0.0.1:${ops}/startup`).then(
        ({ status }) => status === 503,
        () => false,
      );
    await until(probe, { timeoutMs: 20_000 });
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  });

  it.each([
    ['/reject', 'unhandled_rejection', 'a rejection nobody handles'],
    ['/throw', 'uncaught_exception', 'an exception nobody catches'],
  ])('exits with 1 after %s, logged once', async (path, event, message) => {
    const { ended, publicUrl } = run();
    await fetch(`${await publicUrl()}${path}`).catch(() => 'cut');
    const { code, lines } = await ended;
    expect(code).toBe(1);
    expect(lines.slice(2)).toMatchObject([{ level: 'error', event, stack: expect.stringContaining(message) }]);
  });

  it('releases, logs and exits with 1 on a bug during the start', async () => {
    const { code, lines, stderr } = await run({ TEST_CASE: '1' }).ended;
    expect(code).toBe(1);
    expect(lines).toMatchObject([
      { event: 'service_starting', version: '0.0.0-sources', commit: null },
      { event: 'store_released' },
      { event: 'start_failed', stack: expect.stringContaining('a bug while composing') },
    ]);
    expect(stderr).toBe('test-service: could not start: a bug while composing\n');
  });

  it('prints one sentence and exits with 1 if its port is in use', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const { port } = blocker.address() as AddressInfo;
    const { code, stderr } = await run({ PORT: String(port) }).ended;
    expect(code).toBe(1);
    expect(stderr).toBe(
      `test-service: 127.0.0.1:${port} is in use by another process: stop it, or set PORT to a free port.\n`,
    );
    blocker.close();
  });

  it('lists all faults of its configuration, and exits with 1', async () => {
    const { code, stderr } = await run({ PORT: 'x', LOG_LEVEL: 'loud', OPS_PROT: '1' }).ended;
    expect(code).toBe(1);
    expect(stderr).toBe(
      'test-service: The configuration is not valid:\n' +
        '- PORT: must be a whole number from 0 to 65535\n' +
        '- LOG_LEVEL: must be one of error, warn, info, debug\n' +
        '- OPS_PROT: is not a variable of this service\n',
    );
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
