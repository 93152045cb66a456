import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { checkOpenApiFile } from '@sealgate/http';
import { checkConfigTable, migrationFields } from '@sealgate/service-host';
import { fields, readConfig } from './config.ts';
import { adminDescription, publicDescription } from './openapi.ts';

const folder = join(import.meta.dirname, '..');
// `UPDATE_DOCUMENTS=1 npx jest documents` writes what has changed.
const write = process.env['UPDATE_DOCUMENTS'] === '1';

describe('the documents of the gateway say what the code does', () => {
  it('openapi.json', () => checkOpenApiFile(join(folder, 'openapi.json'), publicDescription(), { write }));
  it('admin-openapi.json', () => checkOpenApiFile(join(folder, 'admin-openapi.json'), adminDescription(), { write }));
  it('the table of variables in the README', () => {
    const { migrationDatabaseUrl } = migrationFields;
    checkConfigTable(join(folder, 'README.md'), { ...fields, migrationDatabaseUrl }, { write });
  });
});

describe('the configuration', () => {
  const env = {
    DATABASE_URL: 'postgres://u:p@127.0.0.1/x',
    SERVER_SECRETS: `s1:${'x'.repeat(32)}`,
    LEDGER_ORIGIN: 'ledger.example',
  };

  it('needs a database, secrets and an origin, and has a default for the rest', () => {
    expect(readConfig(env)).toMatchObject({
      port: 8080,
      maxBatchRecords: 100,
      bodyMaxBytes: 1_048_576,
      rateBurst: 2000,
    });
  });

  it.each<[string, Record<string, string>]>([
    ['RATE_BURST', { RATE_BURST: '99' }],
    ['LEDGER_DRIVER', { LEDGER_DRIVER: 'fabric' }],
    ['CHECKPOINT_DIR', { LEDGER_INTEGRATOR: 'true', LEDGER_SIGNING_KEY: 'PRIVATE+KEY+x' }],
    ['LEDGER_SIGNING_KEY', { LEDGER_INTEGRATOR: 'true', CHECKPOINT_DIR: '/tmp' }],
    ['LEDGER_ORIGINS', { LEDGER_ORIGINS: 'typo' }],
  ])('refuses a wrong %s by name', (name, more) => {
    expect(() => readConfig({ ...env, ...more })).toThrow(name);
  });

  it('tells all faults at once, and no value of a secret', () => {
    const wrong = { ...env, DATABASE_URL: 'mysql://secret', PORT: 'x', SERVER_SECRETS: 's1:short-secret' };
    expect(() => readConfig(wrong)).toThrow(/PORT[\s\S]*DATABASE_URL[\s\S]*SERVER_SECRETS/);
    expect(() => readConfig(wrong)).not.toThrow(/short-secret|mysql/);
  });
});
