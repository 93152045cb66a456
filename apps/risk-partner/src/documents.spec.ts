import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { checkOpenApiFile } from '@sealgate/http';
import { checkConfigTable, migrationFields } from '@sealgate/service-host';
import { openApiFaults } from '@sealgate/testing';
import { fields, readConfig } from './config.ts';
import { permissionTable } from './domain/permissions.ts';
import { adminDescription, publicDescription } from './openapi.ts';
import { partnerDescription } from './public-routes.ts';

const folder = join(import.meta.dirname, '..');
// `UPDATE_DOCUMENTS=1 npx jest documents` writes what has changed.
const write = process.env['UPDATE_DOCUMENTS'] === '1';

describe('generated documents are up to date', () => {
  it('openapi.json', () => checkOpenApiFile(join(folder, 'openapi.json'), publicDescription(), { write }));
  it('admin-openapi.json', () => checkOpenApiFile(join(folder, 'admin-openapi.json'), adminDescription(), { write }));
  it('the OpenAPI documents pass lint', () => {
    expect([publicDescription(), adminDescription(), partnerDescription()].flatMap(openApiFaults)).toEqual([]);
  });
  it('the description of /api/v1 has PUBLIC_URL as its server', () => {
    const url = 'https://risk.example.com';
    expect(partnerDescription(url)).toMatchObject({ servers: [{ url }] });
  });
  it('the table of variables in the README', () => {
    const { migrationDatabaseUrl } = migrationFields;
    checkConfigTable(join(folder, 'README.md'), { ...fields, migrationDatabaseUrl }, { write });
  });
  it('the table of permissions in the README', () => {
    const file = join(folder, 'README.md');
    const readme = readFileSync(file, 'utf8');
    const [begin, end] = ['<!-- permissions:begin -->', '<!-- permissions:end -->'];
    const [before = '', rest = ''] = readme.split(begin);
    const [, after = ''] = rest.split(end);
    const current = `${before}${begin}\n\n${permissionTable()}\n\n${end}${after}`;
    if (write) writeFileSync(file, current);
    else expect(readme).toBe(current);
  });
});

describe('the configuration', () => {
  const env = {
    DATABASE_URL: 'postgres://u:p@127.0.0.1/x',
    SERVER_SECRETS: `s1:${'x'.repeat(32)}`,
    LEDGER_ORIGIN: 'ledger.example',
  };

  it('requires database, secrets and origin, and has defaults for the rest', () => {
    expect(readConfig(env)).toMatchObject({
      port: 8080,
      ratePerSecond: 20,
      rateBurst: 100,
      ledgerNetwork: 'risk',
      ledgerChannel: 'evidence',
      mcpAllowedOrigins: [],
    });
  });

  it.each<[string, Record<string, string>]>([
    ['FABRIC_CONFIG', { LEDGER_DRIVER: 'fabric' }],
    ['FABRIC_CONFIG', { FABRIC_CONFIG: '/etc/fabric.json' }],
    ['LEDGER_NETWORK', { LEDGER_NETWORK: 'Not.One' }],
    ['LEDGER_CHANNEL', { LEDGER_CHANNEL: 'a b' }],
    ['CHECKPOINT_DIR', { LEDGER_INTEGRATOR: 'true', LEDGER_SIGNING_KEY: 'PRIVATE+KEY+x' }],
    ['MCP_ALLOWED_HOSTS', { MCP_ALLOWED_HOSTS: 'a,,b' }],
    ['MCP_ALLOWED_ORIGINS', { MCP_ALLOWED_ORIGINS: 'https://tools.example/' }],
    ['MCP_ALLOWED_ORIGINS', { MCP_ALLOWED_ORIGINS: 'https://tools.example:443' }],
    ['MCP_ALLOWED_ORIGINS', { MCP_ALLOWED_ORIGINS: 'tools.example' }],
    ['MCP_ALLOWED_ORIGINS', { MCP_ALLOWED_ORIGINS: '*' }],
    ['MCP_HOSTS', { MCP_HOSTS: 'typo' }],
  ])('refuses a wrong %s by name', (name, more) => {
    expect(() => readConfig({ ...env, ...more })).toThrow(name);
  });

  it('reports all faults at once, without values of secrets', () => {
    const wrong = { ...env, DATABASE_URL: 'mysql://secret', PORT: 'x', SERVER_SECRETS: 's1:short-secret' };
    expect(() => readConfig(wrong)).toThrow(/PORT[\s\S]*DATABASE_URL[\s\S]*SERVER_SECRETS/);
    expect(() => readConfig(wrong)).not.toThrow(/short-secret|mysql/);
  });
});
