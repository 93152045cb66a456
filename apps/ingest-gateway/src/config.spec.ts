import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '@sealgate/service-host';
import { readConfig } from './config.ts';

const least = {
  DATABASE_URL: 'postgres://localhost/gateway',
  SERVER_SECRETS: `s1:${'x'.repeat(32)}`,
  LEDGER_ORIGIN: 'ledger.test',
};

function faultsOf(env: Record<string, string>): string {
  try {
    readConfig({ ...least, ...env });
    return '';
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

describe('the ledger of the gateway', () => {
  it('is the embedded driver by default, or Fabric with a connection file', () => {
    expect(readConfig(least)).toMatchObject({ ledgerDriver: 'embedded', fabricConfig: undefined });
    const env = { ...least, LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: '/run/fabric.json' };
    expect(readConfig(env)).toMatchObject({ ledgerDriver: 'fabric', fabricConfig: '/run/fabric.json' });
  });

  it('rejects incomplete or conflicting driver settings', () => {
    expect(faultsOf({ LEDGER_DRIVER: 'fabric' })).toMatch(/FABRIC_CONFIG: is required if LEDGER_DRIVER is fabric/);
    expect(faultsOf({ FABRIC_CONFIG: '/run/fabric.json' })).toMatch(/FABRIC_CONFIG: needs LEDGER_DRIVER=fabric/);
    expect(faultsOf({ LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: '/f.json', LEDGER_INTEGRATOR: 'true' })).toMatch(
      /LEDGER_INTEGRATOR: only the embedded ledger has an integrator/,
    );
  });
});

describe('the configuration', () => {
  it('requires a database, secrets and an origin, and has defaults for the rest', () => {
    expect(readConfig(least)).toMatchObject({
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
  ])('rejects an invalid %s by name', (name, more) => {
    expect(() => readConfig({ ...least, ...more })).toThrow(name);
  });

  it('reports all faults at once, without the values of secrets', () => {
    const wrong = { ...least, DATABASE_URL: 'mysql://secret', PORT: 'x', SERVER_SECRETS: 's1:short-secret' };
    expect(() => readConfig(wrong)).toThrow(/PORT[\s\S]*DATABASE_URL[\s\S]*SERVER_SECRETS/);
    expect(() => readConfig(wrong)).not.toThrow(/short-secret|mysql/);
  });
});
