import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readServerConfig } from './server-config.ts';

const required = { CHAINCODE_SERVER_ADDRESS: '127.0.0.1:9999', CHAINCODE_ID: 'records:abc' };
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'chaincode-config-'));
  for (const name of ['cert', 'key', 'ca']) writeFileSync(join(directory, name), name);
});
afterAll(() => rmSync(directory, { recursive: true }));
const file = (name: string) => join(directory, name);

describe('readServerConfig', () => {
  it('reads only variables documented in the README', () => {
    const [source, readme] = ['server-config.ts', '../README.md'].map((name) =>
      readFileSync(join(import.meta.dirname, name), 'utf8'),
    );
    const names = new Set(source!.match(/(?<=')CHAINCODE_[A-Z_]+(?=',\n)/g));
    expect(names.size).toBe(5);
    for (const name of names) expect(readme).toContain(`\`${name}\``);
  });

  it('serves plaintext without TLS files', () => {
    expect(readServerConfig(required)).toEqual({
      address: '127.0.0.1:9999',
      chaincodeId: 'records:abc',
      tls: undefined,
    });
  });

  it('reads the TLS files', () => {
    const { tls } = readServerConfig({
      ...required,
      CHAINCODE_TLS_CERT_FILE: file('cert'),
      CHAINCODE_TLS_KEY_FILE: file('key'),
      CHAINCODE_TLS_CLIENT_CA_FILE: file('ca'),
    });
    expect(tls).toEqual({ cert: Buffer.from('cert'), key: Buffer.from('key'), clientCACerts: Buffer.from('ca') });
  });

  it('requires no client certificate without a CA', () => {
    const both = { CHAINCODE_TLS_CERT_FILE: file('cert'), CHAINCODE_TLS_KEY_FILE: file('key') };
    expect(readServerConfig({ ...required, ...both }).tls?.clientCACerts).toBeNull();
  });

  it('reports all faults at once', () => {
    expect(() => readServerConfig({ CHAINCODE_SERVER_ADDRESS: '9999', CHAINCODE_TLS_KEY_FILE: file('none') })).toThrow(
      /ADDRESS is not <host>:<port>.*CHAINCODE_ID is missing.*KEY_FILE cannot be read/,
    );
  });

  it.each([
    ['no port', { CHAINCODE_SERVER_ADDRESS: '127.0.0.1' }, /not <host>:<port>/],
    ['a variable that is not known', { CHAINCODE_TLS_KEY: 'key' }, /CHAINCODE_TLS_KEY is not known/],
    ['an empty id', { CHAINCODE_ID: '' }, /CHAINCODE_ID is missing/],
    ['a certificate alone', { CHAINCODE_TLS_CERT_FILE: 'cert' }, /CERT_FILE is given without/],
    ['a CA alone', { CHAINCODE_TLS_CLIENT_CA_FILE: 'ca' }, /CLIENT_CA_FILE is given without/],
  ])('rejects %s', (_what, given, why) => {
    const environment = Object.fromEntries(
      Object.entries({ ...required, ...given }).map(([name, value]) => [
        name,
        name.endsWith('_FILE') ? file(value) : value,
      ]),
    );
    expect(() => readServerConfig(environment)).toThrow(why);
  });

  it.each(['[::1]:9999', 'chaincode.example:7052', '0.0.0.0:1'])('accepts %s as an address', (address) => {
    expect(readServerConfig({ ...required, CHAINCODE_SERVER_ADDRESS: address }).address).toBe(address);
  });
});
