import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readConfig } from './config.ts';

describe('the configuration', () => {
  const files = mkdtempSync(join(tmpdir(), 'sealgate-peer-'));
  afterAll(() => rmSync(files, { recursive: true }));
  const mappingFile = (name: string, mappings: object[]): string => {
    const path = join(files, name);
    writeFileSync(path, JSON.stringify({ mappings }));
    return path;
  };
  const plain = { type: 'asset', channel: 'acme.main', chaincode: 'records' };
  const env = {
    DATABASE_URL: 'postgres://u:p@127.0.0.1/x',
    SERVER_SECRETS: `s1:${'x'.repeat(32)}`,
    LEDGER_ORIGIN: 'ledger.example',
    MAPPING_FILE: mappingFile('plain.json', [plain]),
  };

  it('requires a database, secrets, an origin and a mapping, and has defaults for the rest', () => {
    const config = readConfig(env);
    expect(config).toMatchObject({ port: 8080, bodyMaxBytes: 8_388_608, ratePerSecond: 100, rateBurst: 200 });
    expect(config.mappings.find('asset')).toMatchObject({ channel: 'acme.main', chaincode: 'records' });
  });

  it('publishes only the logs in PUBLIC_LOG', () => {
    expect(readConfig(env).publicLog).toEqual(new Set());
    expect(readConfig({ ...env, PUBLIC_LOG: 'acme.main' })).toMatchObject({
      publicLog: new Set(['acme.main']),
      logRatePerSecond: 1000,
      logRateBurst: 2000,
    });
  });

  it('refuses to listen beyond loopback without API keys unless ALLOW_UNAUTHENTICATED is set', () => {
    const open = { ...env, HOST: '0.0.0.0', TLS_TERMINATED_UPSTREAM: 'true' };
    expect(() => readConfig(open)).toThrow('API_KEY_HASHES');
    expect(readConfig({ ...open, ALLOW_UNAUTHENTICATED: 'true' }).apiKeys.size).toBe(0);
    expect(readConfig({ ...open, API_KEY_HASHES: 'ab'.repeat(32) }).apiKeys.size).toBe(1);
  });

  it.each<[string, Record<string, string>]>([
    ['FABRIC_CONFIG', { LEDGER_DRIVER: 'fabric' }],
    ['FABRIC_CONFIG', { FABRIC_CONFIG: '/etc/fabric.json' }],
    ['CHECKPOINT_DIR', { LEDGER_INTEGRATOR: 'true', LEDGER_SIGNING_KEY: 'PRIVATE+KEY+x' }],
    ['LEDGER_SIGNING_KEY', { LEDGER_INTEGRATOR: 'true', CHECKPOINT_DIR: '/tmp' }],
    ['LEDGER_CHANNEL', { LEDGER_CHANNEL: 'main' }],
    ['LEDGER_CHANNEL', { LEDGER_CHANNEL: 'acme.main', LEDGER_NETWORK: 'other' }],
    ['METRICS_ALLOW', { METRICS_ALLOW: '10.0.0.0/33' }],
    ['PUBLIC_LOG', { PUBLIC_LOG: 'main' }],
    ['PUBLIC_LOG', { PUBLIC_LOG: 'acme.main,acme.unmapped' }],
    ['PUBLIC_LOG', { PUBLIC_LOG: 'acme.main', LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: '/etc/fabric.json' }],
    ['API_KEY_HASHES', { API_KEY_HASHES: 'not a hash' }],
    ['MAPPING_FILE', { MAPPING_FILE: join(files, 'nowhere.json') }],
    ['LEDGER_ORIGINS', { LEDGER_ORIGINS: 'typo' }],
  ])('rejects an invalid %s by name', (name, more) => {
    expect(() => readConfig({ ...env, ...more })).toThrow(name);
  });

  it('reports all faults of the mapping file at once, each with its JSON path', () => {
    const wrong = mappingFile('wrong.json', [
      { ...plain, channel: 'nowhere', chaincode: 'a b' },
      { ...plain, write: 'upsert' },
      { ...plain, type: 'a*b' },
    ]);
    expect(() => readConfig({ ...env, MAPPING_FILE: wrong })).toThrow(
      /mappings\/0\/channel[\s\S]*mappings\/0\/chaincode[\s\S]*mappings\/1\/write: upsert needs LEDGER_DRIVER=fabric[\s\S]*mappings\/2\/type/,
    );
  });

  it('uses LEDGER_CHANNEL for mappings without a channel', () => {
    const { type, chaincode } = plain;
    const MAPPING_FILE = mappingFile('default.json', [{ type, chaincode }]);
    expect(() => readConfig({ ...env, MAPPING_FILE })).toThrow('mappings/0/channel');
    const config = readConfig({ ...env, MAPPING_FILE, LEDGER_CHANNEL: 'acme.other' });
    expect(config.mappings.find('asset')?.channel).toBe('acme.other');
  });
});
