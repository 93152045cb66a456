import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { ConnectionFileError, parseConnection, readConnectionFile } from './connection-file.ts';

const good = {
  mspId: 'NorthMSP',
  certFile: 'north/cert.pem',
  keyFile: '/keys/key.pem',
  peers: [{ endpoint: 'peer.north.example:7051', tlsCaFile: 'ca.pem', serverNameOverride: 'peer' }],
  channels: [{ name: 'main', holds: ['acme.main'] }, { name: 'other' }],
};
const faultsOf = (changes: object): readonly string[] => {
  try {
    parseConnection({ ...good, ...changes }, '/etc/fabric/connection.json');
  } catch (error) {
    if (error instanceof ConnectionFileError) return error.faults;
    throw error;
  }
  return [];
};

describe('a connection file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-connection-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('resolves paths relative to its folder, and fills in defaults', () => {
    expect(parseConnection(good, '/etc/fabric/connection.json')).toEqual({
      identities: [
        { name: 'default', mspId: 'NorthMSP', certFile: '/etc/fabric/north/cert.pem', keyFile: '/keys/key.pem' },
      ],
      defaultIdentity: 'default',
      callers: [],
      retired: [],
      peers: [{ endpoint: 'peer.north.example:7051', tlsCaFile: '/etc/fabric/ca.pem', serverNameOverride: 'peer' }],
      channels: [
        { name: 'main', holds: ['acme.main'] },
        { name: 'other', holds: [] },
      ],
      deadlinesMs: { evaluate: 5000, endorse: 10_000, submit: 5000, commitStatus: 5000, answer: 15_000 },
      limits: { window: 200, queue: 4096, unsettled: 20_000, callBytes: 4_194_304, conflictAttempts: 8 },
    });
  });

  it('takes a folder of an MSP, and the passphrase of a key, in their place', () => {
    const { certFile: _cert, keyFile: _key, ...others } = good;
    const file = { ...others, mspFolder: 'msp', keyPassphraseFile: 'secret.txt' };
    expect(parseConnection(file, '/etc/fabric/connection.json').identities).toEqual([
      {
        name: 'default',
        mspId: 'NorthMSP',
        mspFolder: '/etc/fabric/msp',
        keyPassphraseFile: '/etc/fabric/secret.txt',
      },
    ]);
  });

  it('keeps explicit values, and leaves its input unchanged', () => {
    const content = { ...good, deadlinesMs: { endorse: 1234 }, limits: { window: 7 } };
    const { deadlinesMs, limits } = parseConnection(content, '/c.json');
    expect([deadlinesMs.endorse, deadlinesMs.submit, limits.window]).toEqual([1234, 5000, 7]);
    expect(content.limits).toEqual({ window: 7 });
  });

  it('reports all faults at once', () => {
    const file = join(folder, 'bad.json');
    writeFileSync(file, JSON.stringify({ ...good, mspId: '', peers: [], extra: 1, limits: { window: 0 } }));
    expect(() => readConnectionFile(file)).toThrow(
      `${file}: the file has an unknown member extra; /mspId must NOT have fewer than 1 characters; ` +
        '/peers must NOT have fewer than 1 items; /limits/window must be >= 1',
    );
  });

  it.each<[string, object, string]>([
    ['no key', { keyFile: undefined }, 'the file needs either certFile and keyFile, or mspFolder'],
    ['files and a folder', { mspFolder: 'msp' }, 'the file needs either certFile and keyFile, or mspFolder'],
    [
      'a peer without a port',
      { peers: [{ endpoint: 'peer', tlsCaFile: 'a' }] },
      '/peers/0/endpoint must match pattern',
    ],
    [
      'port 0',
      { peers: [{ endpoint: 'peer:0', tlsCaFile: 'a' }] },
      '/peers/0/endpoint has no port between 1 and 65535',
    ],
    ['plaintext off loopback', { peers: [{ endpoint: '10.0.0.1:7051' }] }, '/peers/0 needs tlsCaFile'],
    [
      'plaintext to a name that only starts like loopback',
      { peers: [{ endpoint: '127.0.0.1.evil.example:1' }] },
      '/peers/0 needs tlsCaFile',
    ],
    [
      'a peer twice',
      { peers: [{ endpoint: 'localhost:1' }, { endpoint: 'localhost:1' }] },
      '/peers/1/endpoint is there twice',
    ],
    ['a channel twice', { channels: [{ name: 'a' }, { name: 'a' }] }, '/channels/1/name is there twice'],
    ['an invalid Fabric name', { channels: [{ name: 'Main' }] }, '/channels/0/name must match pattern'],
    [
      'a hold that is not a channel',
      { channels: [{ name: 'a', holds: ['acme'] }] },
      '/channels/0/holds/0 must match pattern',
    ],
    [
      'a hold twice',
      {
        channels: [
          { name: 'a', holds: ['*'] },
          { name: 'b', holds: ['*'] },
        ],
      },
      '/channels/1/holds/0 is held twice',
    ],
    [
      'an own channel that is shared',
      { channels: [{ name: 'a', holds: ['acme.main', 'beta.*'] }] },
      '/channels/0/holds: a channel named without * has a Fabric channel of its own',
    ],
  ])('is refused for %s', (_, changes, fault) => {
    expect(faultsOf(changes)).toEqual([expect.stringContaining(fault)]);
  });

  it('may omit TLS on loopback', () => {
    for (const endpoint of ['localhost:7051', '127.0.0.1:7051', '[::1]:7051']) {
      expect(faultsOf({ peers: [{ endpoint }] })).toEqual([]);
    }
  });

  it.each([[null], [[]], ['text'], [7]])('is refused if it contains %j', (content) => {
    expect(() => parseConnection(content, '/c.json')).toThrow('/c.json: must hold a JSON object');
  });

  it('is refused if it cannot be read or is not JSON', () => {
    expect(() => readConnectionFile(join(folder, 'none.json'))).toThrow('cannot be read');
    writeFileSync(join(folder, 'text.json'), 'no');
    expect(() => readConnectionFile(join(folder, 'text.json'))).toThrow('is not JSON');
  });
});
