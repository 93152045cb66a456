import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from '@jest/globals';
import { smallDisk, until } from '@sealgate/testing';
import { runCli } from './cli.ts';
import { CHANNEL, directoryOf, sampleLog, servedLog } from './testing/sample-log.ts';

/** A log, and one with other entries from an index on, signed by the same key. */
const log = sampleLog(600);
const forked = sampleLog(600, { key: log.key, entries: log.entries.slice(0, 299) });

describe('the monitor', () => {
  let files = new Map<string, Buffer>();
  /** If set, nothing is answered. */
  let hang: (() => void) | undefined;
  const server = createServer((request, response) => {
    if (hang !== undefined) return hang();
    const body = files.get((request.url ?? '').replace(`/ledger/${CHANNEL}/`, ''));
    if (request.headers.authorization !== 'Bearer s3cret') response.writeHead(401).end();
    else response.writeHead(body === undefined ? 404 : 200).end(body);
    return undefined;
  });
  const url = new Promise<string>((done) =>
    server.listen(0, '127.0.0.1', () =>
      done(`http://127.0.0.1:${(server.address() as AddressInfo).port}/ledger/${CHANNEL}`),
    ),
  );
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  it('reports findings by exit code and metrics, and stores its state', async () => {
    const policy = `witness w witness.example/w1+815cf22e+BC1xFkK3JrBEAWJ8qfusMvXIUw+xkDzE2wIlhxeSGkiB\nquorum w\n`;
    const directory = await directoryOf(
      new Map([
        ['log.vkey', log.key.verifierKey],
        ['key', 's3cret\n'],
        ['policy', policy],
      ]),
    );
    const run = async (...more: string[]) => {
      let text = '';
      const take = (part: string) => void (text += part);
      const common = [
        '--key',
        'log.vkey',
        '--state',
        'seen.json',
        '--bearer-file',
        'key',
        '--metrics-textfile',
        'm.prom',
      ];
      const code = await runCli(['monitor', await url, ...common, ...more], { out: take, err: take, directory });
      return { code, text };
    };
    const metrics = () => readFileSync(`${directory}/m.prom`, 'utf8');
    files = servedLog(log, 300);
    expect(await run()).toMatchObject({ code: 0, text: expect.stringContaining('300 entries, 300 of them new') });
    expect(metrics()).toContain('sealgate_monitor_size{log="demo.main"} 300\n');
    files = servedLog(log);
    expect(await run()).toMatchObject({ code: 0, text: expect.stringContaining('600 entries, 300 of them new') });
    expect(await run('--policy', 'policy')).toMatchObject({ code: 16, text: expect.stringContaining('no quorum') });
    const [line] = (await run('--policy', 'policy', '--json')).text.split('\n');
    expect(JSON.parse(line!)).toMatchObject({ command: 'monitor', size: 600, problem: 'cosignatures' });
    const state = readFileSync(`${directory}/seen.json`, 'utf8');
    files = servedLog(forked);
    // Both checkpoints are the proof.
    expect(await run()).toMatchObject({ code: 12, text: expect.stringContaining(log.checkpoint()) });
    expect(metrics()).toContain('sealgate_monitor_problem{log="demo.main",problem="fork"} 1\n');
    files = servedLog(log, 599);
    expect((await run()).code).toBe(13);
    files = new Map();
    expect((await run()).code).toBe(2);
    expect(metrics()).toContain('problem="unreachable"} 1\n');
    expect(readFileSync(`${directory}/seen.json`, 'utf8')).toBe(state);
    writeFileSync(`${directory}/key`, 'other');
    expect(await run()).toMatchObject({ code: 2, text: expect.stringContaining('answered 401') });
    writeFileSync(`${directory}/seen.json`, '{"v":1,');
    expect(await run()).toMatchObject({ code: 2, text: expect.stringContaining('is no state of a monitor') });
  });

  const mirrorAt = async (path: string) => (await url).replace(`/ledger/${CHANNEL}`, path);
  const monitored = async (given: string, files_: string[], directory: string) => {
    let text = '';
    const take = (part: string) => void (text += part);
    const common = ['--key', 'log.vkey', '--bearer-file', 'key', ...files_];
    return { code: await runCli(['monitor', given, ...common], { out: take, err: take, directory }), text };
  };
  const inputs = () =>
    directoryOf(
      new Map([
        ['log.vkey', log.key.verifierKey],
        ['key', 's3cret\n'],
        ['plain', 'a file'],
      ]),
    );

  it.each([
    ['--state', 'plain/seen.json', []],
    ['--state', 'none/seen.json', []],
    ['--metrics-textfile', 'none/m.prom', ['--state', 'seen.json']],
  ])('names a file of %s that it cannot write, and ends with 2', async (option, file, more) => {
    const directory = await inputs();
    files = servedLog(log, 300);
    const { code, text } = await monitored(await url, [option, file, ...more], directory);
    expect({ code, text }).toEqual({ code: 2, text: expect.stringContaining('300 entries, 300 of them new') });
    expect(text).toMatch(new RegExp(`monitor: ${directory}/${file} cannot be written: (ENOENT|ENOTDIR)\\.\n`));
    expect(text).not.toContain('    at ');
    // A finding about the log matters more.
    files = servedLog(log, 300);
    files.set('checkpoint', Buffer.from(sampleLog(300).checkpoint(300)));
    expect((await monitored(await url, [option, file, ...more], directory)).code).toBe(10);
  });

  it('names a full and a read-only disk, and leaves no part of a file there', async () => {
    const disk = smallDisk(1, 'a monitor on a full disk');
    if (disk === undefined) return;
    const directory = await inputs();
    files = servedLog(log, 300);
    const state = join(disk.path, 'seen.json');
    try {
      writeFileSync(join(disk.path, 'ballast'), Buffer.alloc(1024 * 1024));
      const full = await monitored(await url, ['--state', state], directory);
      expect(full).toMatchObject({ code: 2, text: expect.stringContaining(`${state} cannot be written: ENOSPC.`) });
      expect(readdirSync(disk.path)).toEqual(['ballast']);
      disk.makeReadOnly();
      const readOnly = await monitored(await url, ['--state', state], directory);
      expect(readOnly).toMatchObject({ code: 2, text: expect.stringContaining(`${state} cannot be written: EROFS.`) });
    } finally {
      disk.release();
    }
  });

  it('goes on with the next round after a file could not be written', async () => {
    const directory = await inputs();
    files = servedLog(log, 300);
    const stop = new AbortController();
    const said: string[] = [];
    const take = (text: string) => void said.push(text);
    const line = `monitor ${await url} --key log.vkey --bearer-file key --state later/seen.json --every 1`;
    const ended = runCli(line.split(' '), { out: take, err: take, directory, stopSignal: () => stop.signal });
    await until(() => said.some((text) => text.includes('cannot be written')));
    mkdirSync(join(directory, 'later'));
    await until(() => existsSync(join(directory, 'later/seen.json')));
    stop.abort();
    expect(await ended).toBe(0);
  });

  it.each(['/copies/of/ledger/logs/demo.main/', '/demo.main', '/mirror', '/a/ledger/b', '/'])(
    'follows a mirror at %s',
    async (path) => {
      const directory = await inputs();
      const mirror = await mirrorAt(path);
      const placed = (of: Map<string, Buffer>) =>
        new Map([...of].map(([name, body]) => [`${path.replace(/\/$/, '')}/${name}`, body]));
      files = placed(servedLog(log, 300));
      const state = ['--state', 'seen.json', '--metrics-textfile', 'm.prom'];
      expect(await monitored(mirror, state, directory)).toMatchObject({ code: 0 });
      expect(readFileSync(`${directory}/m.prom`, 'utf8')).toContain('sealgate_monitor_size{log="demo.main"} 300\n');
      files = placed(servedLog(log));
      // With or without a slash at the end it is the same log.
      const other = mirror.endsWith('/') ? mirror.slice(0, -1) : `${mirror}/`;
      expect((await monitored(other, state, directory)).text).toContain('600 entries, 300 of them new');
    },
  );

  it('serves metrics, and stops between two rounds or within one', async () => {
    const vkeys = `${sampleLog(1).key.verifierKey},${log.key.verifierKey}\n`;
    const directory = await directoryOf(
      new Map([
        ['log.vkey', vkeys],
        ['key', 's3cret\n'],
      ]),
    );
    // A free port: chosen by the system, then closed.
    const chosen = createServer();
    await new Promise<void>((done) => chosen.listen(0, '127.0.0.1', done));
    const { port } = chosen.address() as AddressInfo;
    await new Promise((done) => chosen.close(done));
    const start = async (every: string) => {
      const stop = new AbortController();
      const said: string[] = [];
      const ended = runCli(
        `monitor ${await url} --key log.vkey --state seen.json --bearer-file key ${every}`.split(' '),
        { out: (text) => said.push(text), err: (text) => said.push(text), directory, stopSignal: () => stop.signal },
      );
      return { stop, said, ended };
    };
    files = servedLog(log);
    const served600 = await start(`--every 3600 --metrics-port ${port} --metrics-host 127.0.0.1`);
    await until(() => served600.said.length > 0);
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(await answer.text()).toContain('sealgate_monitor_problem{log="demo.main",problem="fork"} 0\n');
    // The port is in use: reported in a sentence, without a crash.
    const second = await start(`--every 3600 --metrics-port ${port}`);
    expect(await second.ended).toBe(2);
    expect(second.said.join('')).toContain(`Metrics cannot be served on port ${port} of 127.0.0.1: EADDRINUSE.`);
    served600.stop.abort();
    expect(await served600.ended).toBe(0);
    expect(readFileSync(`${directory}/seen.json`, 'utf8')).toContain(await url);

    // A round that never ends: the log does not answer.
    const before = readFileSync(`${directory}/seen.json`, 'utf8');
    let isAsked = false;
    hang = () => (isAsked = true);
    const hanging = await start('--every 3600');
    await until(() => isAsked);
    hanging.stop.abort();
    expect(await hanging.ended).toBe(0);
    hang = undefined;
    expect(hanging.said).toEqual([]);
    expect(readFileSync(`${directory}/seen.json`, 'utf8')).toBe(before);
  });

  it.each([
    ['--metrics-host localhost', '--metrics-host takes an IP address'],
    ['--metrics-port 65536', '--metrics-port is at most 65535'],
    ['--metrics-port', 'argument missing'],
  ])('rejects %s', async (more, reason) => {
    const directory = await directoryOf(new Map([['log.vkey', log.key.verifierKey]]));
    let said = '';
    const take = (text: string) => void (said += text);
    const port = more.startsWith('--metrics-port') ? '' : '--metrics-port 9464 ';
    const line = `monitor http://127.0.0.1:1/ledger/demo.main --key log.vkey --state s.json --every 60 ${port}${more}`;
    expect(await runCli(line.split(' '), { out: take, err: take, directory })).toBe(2);
    expect(said).toContain(reason);
  });

  it.each([
    ['not a url'],
    ['http://127.0.0.1:1/ledger/a"b'],
    ['http://127.0.0.1:1/ledger/demo.main?x=1'],
    ['ftp://127.0.0.1/demo.main'],
  ])('rejects %s', async (given) => {
    const directory = await directoryOf(new Map([['log.vkey', log.key.verifierKey]]));
    const quiet = () => undefined;
    const line = ['monitor', given, '--key', 'log.vkey', '--state', 'seen.json'];
    expect(await runCli(line, { out: quiet, err: quiet, directory })).toBe(2);
  });
});
