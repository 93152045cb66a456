import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { runLine, type Ran } from '../testing/run-line.ts';

// As the command does it: the library is loaded where it is needed.
const { readConnectionFile } = await import('@sealgate/ledger-fabric');

const folder = mkdtempSync(join(tmpdir(), 'sealgate-import-'));
afterAll(() => rmSync(folder, { recursive: true }));
const msp = join(folder, 'msp');
const out = join(folder, 'out', 'connection.json');
const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----';

/** As the test network of Fabric's samples writes it. */
const profile = {
  name: 'test-network-org1',
  version: '1.0.0',
  client: { organization: 'Org1', connection: { timeout: { peer: { endorser: '300' } } } },
  organizations: {
    Org1: { mspid: 'Org1MSP', peers: ['peer0.org1.example.com'], certificateAuthorities: ['ca.org1.example.com'] },
  },
  peers: {
    'peer0.org1.example.com': {
      url: 'grpcs://localhost:7051',
      tlsCACerts: { pem: PEM },
      grpcOptions: {
        'ssl-target-name-override': 'peer0.org1.example.com',
        hostnameOverride: 'peer0.org1.example.com',
      },
    },
  },
  certificateAuthorities: { 'ca.org1.example.com': { url: 'https://localhost:7054' } },
};

function put(content: object, asYaml = false): string {
  const file = join(folder, asYaml ? 'profile.yaml' : 'profile.json');
  writeFileSync(file, asYaml ? stringify(content) : JSON.stringify(content));
  return file;
}

const run = (source: string, ...more: string[]): Promise<Ran> =>
  runLine(['fabric', 'import', source, '--out', out, ...more]);
const SIGNS = ['--msp-folder', msp, '--channel', 'mychannel=acme.main'];

beforeEach(() => {
  rmSync(join(folder, 'out'), { recursive: true, force: true });
  rmSync(msp, { recursive: true, force: true });
  for (const name of ['signcerts', 'keystore', 'tlscacerts']) mkdirSync(join(msp, name), { recursive: true });
});

describe('fabric import', () => {
  it.each([false, true])("takes a profile as Fabric's samples write it (YAML: %j)", async (asYaml) => {
    const { code, err, out: said } = await run(put(profile, asYaml), ...SIGNS);
    expect({ code, said }).toEqual({ code: 0, said: `${out} has 1 peers and 1 channels.\n` });
    expect(err).toBe(
      'sealgate: not taken: certificateAuthorities: certificates are files here; renew them with the tools of the authority.\n',
    );
    const ca = join(folder, 'out', 'peer0.org1.example.com.tls-ca.pem');
    expect(readConnectionFile(out)).toMatchObject({
      identities: [{ mspId: 'Org1MSP', mspFolder: msp }],
      peers: [{ endpoint: 'localhost:7051', tlsCaFile: ca, serverNameOverride: 'peer0.org1.example.com' }],
      channels: [{ name: 'mychannel', holds: ['acme.main'] }],
    });
    expect(readFileSync(ca, 'utf8')).toBe(`${PEM}\n`);
  });

  it('takes files that a profile names, its channels, a user, a client certificate, and lists of PEM', async () => {
    const full = {
      organizations: {
        Org1: {
          mspid: 'Org1MSP',
          cryptoPath: '/etc/crypto/{username}/msp',
          users: {
            app: { cert: { path: 'app.pem' }, key: { pem: ['-----BEGIN PRIVATE KEY-----', 'MIGH'] } },
            other: {},
          },
        },
        Org2: { mspid: 'Org2MSP', peers: ['peer.org2'] },
      },
      client: {
        organization: 'Org1',
        tlsCerts: { client: { cert: { path: '/tls/cert.pem' }, key: { path: 'tls.key' } } },
      },
      peers: {
        'peer.org1': {
          url: 'grpcs://peer.org1:7051',
          tlsCACerts: { path: 'ca/org1.pem' },
          grpcOptions: { 'keep-alive-time': '0s', hostnameOverride: 'peer.org1' },
        },
        'peer.local': { url: 'grpc://127.0.0.1:7061' },
      },
      channels: { mychannel: {}, side: {} },
      orderers: {},
      entityMatchers: {},
    };
    const { code, err } = await run(put(full));
    expect(code).toBe(0);
    expect(err.match(/(?<=not taken: )\S+/g)).toEqual([
      'users.other:',
      'cryptoPath:',
      'peers.peer.org1.grpcOptions.keep-alive-time:',
      'orderers:',
      'entityMatchers:',
      'channel',
      'channel',
    ]);
    expect(err).toContain(
      'sealgate: not taken: channel side: what it holds; add it, as in --channel side=acme.main.\n',
    );
    expect(readConnectionFile(out)).toMatchObject({
      identities: [
        { mspId: 'Org1MSP', certFile: join(folder, 'app.pem'), keyFile: join(folder, 'out', 'app.key.pem') },
      ],
      peers: [
        {
          endpoint: 'peer.org1:7051',
          tlsCaFile: join(folder, 'ca/org1.pem'),
          tlsCertFile: '/tls/cert.pem',
          tlsKeyFile: join(folder, 'tls.key'),
          serverNameOverride: undefined,
        },
        { endpoint: '127.0.0.1:7061', tlsCaFile: undefined },
      ],
      channels: [{ name: 'mychannel' }, { name: 'side' }],
    });
    expect(statSync(join(folder, 'out', 'app.key.pem')).mode & 0o777).toBe(0o600);
  });

  it('takes all users with a certificate and a key; the first one signs by default', async () => {
    const user = (name: string) => ({ cert: { path: `${name}.pem` }, key: { pem: [`key of ${name}`] } });
    const users = { idle: { cert: { path: 'idle.pem' } }, app: user('app'), 'User1@org1': user('user1') };
    const org = { ...profile.organizations.Org1, users };
    const { code, out: said, err } = await run(put({ ...profile, organizations: { Org1: org } }), ...SIGNS.slice(2));
    expect({ code, said }).toEqual({
      code: 0,
      said: `${out} has 1 peers and 1 channels. Of 2 identities app signs by default.\n`,
    });
    expect(err).toContain('users.idle: it has no certificate and key.');
    const keyFile = (name: string) => join(folder, 'out', `${name}.key.pem`);
    expect(readConnectionFile(out)).toMatchObject({
      identities: [
        { name: 'app', mspId: 'Org1MSP', certFile: join(folder, 'app.pem'), keyFile: keyFile('app') },
        { name: 'User1@org1', mspId: 'Org1MSP', certFile: join(folder, 'user1.pem'), keyFile: keyFile('User1_org1') },
      ],
      defaultIdentity: 'app',
      callers: [],
    });
    expect(readFileSync(keyFile('User1_org1'), 'utf8')).toBe('key of user1\n');
  });

  it('asks the peers of the organisation only, and names the others', async () => {
    const two = {
      ...profile,
      organizations: { ...profile.organizations, Org2: { mspid: 'Org2MSP', peers: ['peer0.org2'] } },
      peers: { ...profile.peers, 'peer0.org2': { url: 'grpcs://localhost:9051', tlsCACerts: { pem: PEM } } },
    };
    const first = await run(put(two), ...SIGNS);
    expect(first.err).toContain('peers peer0.org2: not of Org1');
    rmSync(join(folder, 'out'), { recursive: true });
    const second = await run(put(two), ...SIGNS, '--organization', 'Org2');
    expect(second).toMatchObject({ code: 0 });
    expect(readConnectionFile(out)).toMatchObject({
      identities: [{ mspId: 'Org2MSP' }],
      peers: [{ endpoint: 'localhost:9051' }],
    });
  });

  it('takes the folder of an MSP', async () => {
    writeFileSync(join(msp, 'tlscacerts', 'a.pem'), PEM);
    writeFileSync(join(msp, 'tlscacerts', 'b.pem'), PEM);
    const peers = ['--peer', 'peer.org1:7051', '--peer', 'peer.org1:8051'];
    const channels = ['--channel', 'mychannel=acme.*,beta.*', '--channel', 'side=acme.side'];
    const { code, err } = await run(msp, '--msp-id', 'Org1MSP', ...peers, ...channels);
    expect({ code, err }).toEqual({
      code: 0,
      err: 'sealgate: not taken: tlscacerts/b.pem: peers are checked by a.pem.\n',
    });
    const tlsCaFile = join(msp, 'tlscacerts', 'a.pem');
    expect(readConnectionFile(out)).toMatchObject({
      identities: [{ mspId: 'Org1MSP', mspFolder: msp }],
      peers: [
        { endpoint: 'peer.org1:7051', tlsCaFile },
        { endpoint: 'peer.org1:8051', tlsCaFile },
      ],
      channels: [
        { name: 'mychannel', holds: ['acme.*', 'beta.*'] },
        { name: 'side', holds: ['acme.side'] },
      ],
    });
  });

  it('says that a peer on this machine is asked in plaintext, where the folder has no authority of TLS', async () => {
    const { code, err } = await run(
      msp,
      '--msp-id',
      'Org1MSP',
      '--peer',
      'localhost:7051',
      '--channel',
      'side=acme.side',
    );
    expect({ code, err }).toEqual({
      code: 0,
      err: 'sealgate: not taken: tlscacerts: there is none, so localhost:7051 is asked in plaintext.\n',
    });
    expect(readConnectionFile(out).peers).toMatchObject([{ endpoint: 'localhost:7051', tlsCaFile: undefined }]);
  });

  it.each<[string, () => Promise<Ran>, string]>([
    [
      'the folder of an MSP without an authority of TLS, and a peer elsewhere',
      () => run(msp, '--msp-id', 'Org1MSP', '--peer', 'peer.org1:7051', '--channel', 'side=acme.side'),
      '/peers/0 needs tlsCaFile',
    ],
    ['nobody who signs', () => run(put(profile), '--channel', 'a'), 'needs either certFile and keyFile, or mspFolder'],
    ['no channel', () => run(put(profile), '--msp-folder', msp), '/channels must NOT have fewer than 1 items'],
    [
      'an organisation that is not there',
      () => run(put(profile), ...SIGNS, '--organization', 'Org3'),
      "must have required property 'mspId'",
    ],
    [
      'a peer without TLS elsewhere',
      () =>
        run(
          put({ ...profile, peers: { p: { url: 'grpc://10.0.0.1:7051' } }, organizations: {} }),
          ...SIGNS,
          '--msp-id',
          'M',
        ),
      '/peers/0 needs tlsCaFile',
    ],
    [
      'a path with a variable',
      () =>
        run(
          put({
            ...profile,
            peers: { 'peer0.org1.example.com': { url: 'grpcs://p:7051', tlsCACerts: { path: '${HOME}/ca.pem' } } },
          }),
          ...SIGNS,
        ),
      'not taken: ${HOME}/ca.pem: the path has a variable',
    ],
    [
      'two channels that hold the same',
      () => run(put(profile), ...SIGNS, '--channel', 'side=acme.main'),
      '/channels/1/holds/0 is held twice',
    ],
    ['a channel that holds nothing that can be', () => run(put(profile), ...SIGNS, '--channel', 'side='), '/holds/0'],
    ['a folder without an MSP id', () => run(msp, '--peer', 'p:1', '--channel', 'a'), "property 'mspId'"],
    ['peers beside a profile', () => run(put(profile), ...SIGNS, '--peer', 'p:1'), 'a profile names its peers'],
    ['a folder beside a folder', () => run(msp, ...SIGNS), 'the source is a folder itself'],
    ['a list', () => run(put([])), 'is not a connection profile'],
    ['no file', () => run(join(folder, 'none.json')), 'none.json cannot be read'],
  ])('writes nothing with %s', async (_, wrong, said) => {
    const { code, err, out: text } = await wrong();
    expect({ code, text }).toEqual({ code: 2, text: '' });
    expect(err).toContain(said);
    expect(statSync(out, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('takes text that is neither JSON nor YAML for neither', async () => {
    const file = join(folder, 'text.yaml');
    writeFileSync(file, 'a: [b\n\tc');
    expect(await run(file)).toMatchObject({ code: 2, err: expect.stringContaining('is neither JSON nor YAML') });
  });

  it('overwrites nothing', async () => {
    await run(put(profile), ...SIGNS);
    const before = readFileSync(out, 'utf8');
    expect(await run(put(profile), ...SIGNS, '--channel', 'other')).toMatchObject({
      code: 2,
      err: expect.stringContaining('EEXIST'),
    });
    expect(readFileSync(out, 'utf8')).toBe(before);
  });
});
