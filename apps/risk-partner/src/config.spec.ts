import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.ts';

describe('the configuration', () => {
  const env = {
    DATABASE_URL: 'postgres://u:p@127.0.0.1/x',
    SERVER_SECRETS: `s1:${'x'.repeat(32)}`,
    LEDGER_ORIGIN: 'ledger.example',
  };

  it('requires a database, secrets and an origin, and has defaults for the rest', () => {
    expect(readConfig(env)).toMatchObject({
      port: 8080,
      ratePerSecond: 20,
      rateBurst: 100,
      ledgerNetwork: 'risk',
      ledgerChannel: 'evidence',
      mcpAllowedOrigins: [],
    });
  });

  it('takes PUBLIC_URL and /mcp as audience of the tools, unless others are configured', () => {
    const audienceOf = (audience: object) =>
      readConfig({
        ...env,
        PUBLIC_URL: 'https://risk.example.com',
        OIDC_ISSUERS: JSON.stringify([{ issuer: 'https://login.example.com', audience }]),
      }).oidcIssuers[0]?.audience;
    expect(audienceOf({ api: ['a'] })).toEqual({ api: ['a'], mcp: ['https://risk.example.com/mcp'] });
    expect(audienceOf({ mcp: ['api://x'] })).toEqual({ mcp: ['api://x'] });
    expect(audienceOf({ mcp: [] })).toEqual({ mcp: [] });
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
    ['CONSOLE_URL', { CONSOLE_URL: 'http://console.example.com' }],
    ['CONSOLE_URL', { CONSOLE_URL: 'https://console.example.com/' }],
  ])('rejects an invalid %s by name', (name, more) => {
    expect(() => readConfig({ ...env, ...more })).toThrow(name);
  });

  it('reports all faults at once, without the values of secrets', () => {
    const wrong = { ...env, DATABASE_URL: 'mysql://secret', PORT: 'x', SERVER_SECRETS: 's1:short-secret' };
    expect(() => readConfig(wrong)).toThrow(/PORT[\s\S]*DATABASE_URL[\s\S]*SERVER_SECRETS/);
    expect(() => readConfig(wrong)).not.toThrow(/short-secret|mysql/);
  });
});
