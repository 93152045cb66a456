import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { documentSigner, generateDocumentKey } from '@sealgate/envelope';
import { checkOpenApiFile } from '@sealgate/http';
import { checkConfigTable, migrationFields } from '@sealgate/service-host';
import { openApiFaults } from '@sealgate/testing';
import { fields, readConfig } from './config.ts';
import { adminDescription, publicDescription } from './openapi.ts';

const folder = join(import.meta.dirname, '..');
// `UPDATE_DOCUMENTS=1 npx jest documents` regenerates them.
const write = process.env['UPDATE_DOCUMENTS'] === '1';

describe('generated documents of the case gate are up to date', () => {
  it('openapi.json', () => checkOpenApiFile(join(folder, 'openapi.json'), publicDescription(), { write }));
  it('admin-openapi.json', () => checkOpenApiFile(join(folder, 'admin-openapi.json'), adminDescription(), { write }));
  it('in a form that code generators and linters accept', () => {
    expect([publicDescription(), adminDescription()].flatMap(openApiFaults)).toEqual([]);
  });
  it('openapi.json with the public URL as its server, if configured', () => {
    const url = 'https://gate.example.com';
    expect(publicDescription({ publicUrl: url })).toMatchObject({ servers: [{ url }] });
  });
  it('the table of variables in the README', () => {
    const { migrationDatabaseUrl } = migrationFields;
    checkConfigTable(join(folder, 'README.md'), { ...fields, migrationDatabaseUrl }, { write });
  });
});

describe('the configuration', () => {
  const pem = generateDocumentKey();
  const env = {
    DATABASE_URL: 'postgres://u:p@127.0.0.1/x',
    SERVER_SECRETS: `s1:${'x'.repeat(32)}`,
    LEDGER_ORIGIN: 'ledger.example',
    DOCUMENT_SIGNING_KEY: pem,
  };

  it('needs a database, secrets, an origin and a signing key, and has defaults for the rest', () => {
    expect(readConfig(env)).toMatchObject({
      port: 8080,
      ratePerSecond: 20,
      rateBurst: 100,
      gateRatePerSecond: 100,
      gateRateBurst: 200,
      gateDeadlineMs: 250,
      caseTtlDays: 90,
      ledgerChannel: 'gate.seals',
    });
  });

  it('accepts the key with escaped line feeds, and retired keys as a set', () => {
    const { jwk } = documentSigner(generateDocumentKey());
    const config = readConfig({
      ...env,
      DOCUMENT_SIGNING_KEY: pem.replaceAll('\n', '\\n'),
      DOCUMENT_RETIRED_KEYS: JSON.stringify({ keys: [jwk] }),
    });
    expect(config.documentSigner.kid).toBe(documentSigner(pem).kid);
    expect(config.retiredKeys).toEqual([jwk]);
  });

  it.each<[string, Record<string, string>]>([
    ['LEDGER_CHANNEL', { LEDGER_CHANNEL: 'main' }],
    ['LEDGER_CHANNEL', { LEDGER_CHANNEL: 'demo.main', LEDGER_NETWORK: 'other' }],
    ['FABRIC_CONFIG', { LEDGER_DRIVER: 'fabric' }],
    ['FABRIC_CONFIG', { FABRIC_CONFIG: '/etc/fabric.json' }],
    ['CHECKPOINT_DIR', { LEDGER_INTEGRATOR: 'true', LEDGER_SIGNING_KEY: 'PRIVATE+KEY+x' }],
    ['GATE_DEADLINE_MS', { GATE_DEADLINE_MS: '5' }],
    ['DOCUMENT_SIGNING_KEY', { DOCUMENT_SIGNING_KEY: 'secret-of-mine' }],
    ['DOCUMENT_RETIRED_KEYS', { DOCUMENT_RETIRED_KEYS: '{"keys":[{"kty":"RSA"}]}' }],
    ['GATE_DEADLINE', { GATE_DEADLINE: 'typo' }],
  ])('refuses an invalid %s by name, and never shows a secret', (name, more) => {
    expect(() => readConfig({ ...env, ...more })).toThrow(name);
    expect(() => readConfig({ ...env, ...more })).not.toThrow(/secret-of-mine/);
  });
});
