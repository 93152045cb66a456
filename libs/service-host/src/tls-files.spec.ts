import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { selfSigned } from '../test/self-signed.ts';
import { LOCAL } from '../test/served-app.ts';
import { get, portOf, start, stopServices } from '../test/started-service.ts';
import { StartError } from './index.ts';

afterEach(stopServices);

describe('TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tls-files-'));
  const files = { tlsCertFile: join(folder, 'tls.crt'), tlsKeyFile: join(folder, 'tls.key') };
  const put = ({ cert, key }: { cert?: string; key?: string }) => {
    if (cert !== undefined) writeFileSync(files.tlsCertFile, cert);
    if (key !== undefined) writeFileSync(files.tlsKeyFile, key);
  };
  const subject = (cert: string) => new X509Certificate(cert).subject;

  /** The name on the certificate of a new connection. */
  const shown = (url: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = tlsConnect({ port: portOf(url), host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(`CN=${String(socket.getPeerCertificate().subject.CN)}`);
        socket.destroy();
      });
      socket.on('error', reject);
    });

  it('is used off loopback, and never on the ops listener', async () => {
    put(selfSigned('one'));
    const service = await start({ config: { ...LOCAL, ...files, host: '0.0.0.0' } });
    const url = `https://127.0.0.1:${portOf(service.publicUrl)}`;
    expect(service.publicUrl).toMatch(/^https:/);
    expect((await get(url)).text).toBe('hello');
    expect(service.opsUrl).toMatch(/^http:/);
  });

  it('is reloaded when its files change, keeping open connections', async () => {
    const first = selfSigned('first');
    const second = selfSigned('second');
    put(first);
    const service = await start({ config: { ...LOCAL, ...files }, tlsPollMs: 10 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    expect((await get(service.publicUrl, { agent })).text).toBe('hello');
    expect(await shown(service.publicUrl)).toBe(subject(first.cert));
    // Files are replaced one after the other; the mismatching pair in between is not used.
    put({ cert: second.cert });
    await until(() => service.lines.some(({ event }) => event === 'tls_reload_failed'));
    expect(await shown(service.publicUrl)).toBe(subject(first.cert));
    put({ key: second.key });
    await until(async () => (await shown(service.publicUrl)) === subject(second.cert));
    expect((await get(service.publicUrl, { agent })).text).toBe('hello');
    expect(service.lines.filter(({ event }) => event === 'tls_reload_failed')).toHaveLength(1);
    agent.destroy();
  });

  it('is reloaded when a symbolic link changes, as with a Kubernetes secret', async () => {
    const [old, young] = [selfSigned('old'), selfSigned('young')];
    for (const [name, { cert, key }] of Object.entries({ old, young })) {
      writeFileSync(join(folder, `${name}.crt`), cert);
      writeFileSync(join(folder, `${name}.key`), key);
    }
    const link = (name: string) => {
      for (const [path, ending] of [
        [files.tlsCertFile, 'crt'],
        [files.tlsKeyFile, 'key'],
      ] as const) {
        rmSync(path, { force: true });
        symlinkSync(join(folder, `${name}.${ending}`), path);
      }
    };
    link('old');
    const service = await start({ config: { ...LOCAL, ...files }, tlsPollMs: 10 });
    expect(await shown(service.publicUrl)).toBe('CN=old');
    link('young');
    await until(async () => (await shown(service.publicUrl)) === 'CN=young');
  });

  it('does not block stopping on connections that have sent nothing yet', async () => {
    put(selfSigned('one'));
    const service = await start({ config: { ...LOCAL, ...files } });
    const socket = tlsConnect({ port: portOf(service.publicUrl), host: '127.0.0.1', rejectUnauthorized: false });
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    const started = performance.now();
    await service.stop();
    expect(performance.now() - started).toBeLessThan(2_000);
    socket.destroy();
  });

  it('does not block stopping on connections in a handshake', async () => {
    put(selfSigned('one'));
    const service = await start({ config: { ...LOCAL, ...files } });
    const socket = connect({ port: portOf(service.publicUrl), host: '127.0.0.1' });
    await new Promise((resolve) => socket.once('connect', resolve));
    const started = performance.now();
    const stopping = service.stop();
    const secure = tlsConnect({ socket, rejectUnauthorized: false });
    secure.on('error', () => undefined);
    await stopping;
    expect(performance.now() - started).toBeLessThan(2_000);
    secure.destroy();
  });

  it('with unusable files fails in one sentence', async () => {
    put({ cert: selfSigned('one').cert, key: selfSigned('two').key });
    await expect(start({ config: { ...LOCAL, ...files } })).rejects.toThrow(
      /^The certificate in .* cannot be used with/,
    );
    unlinkSync(files.tlsKeyFile);
    await expect(start({ config: { ...LOCAL, ...files } })).rejects.toThrow(StartError);
    rmSync(folder, { recursive: true });
  });
});
