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
  it('is embedded, or a Fabric network with a connection file', () => {
    expect(readConfig(least)).toMatchObject({ ledgerDriver: 'embedded', fabricConfig: undefined });
    const env = { ...least, LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: '/run/fabric.json' };
    expect(readConfig(env)).toMatchObject({ ledgerDriver: 'fabric', fabricConfig: '/run/fabric.json' });
  });

  it('is refused where its configuration is incomplete', () => {
    expect(faultsOf({ LEDGER_DRIVER: 'fabric' })).toMatch(/FABRIC_CONFIG: is required if LEDGER_DRIVER is fabric/);
    expect(faultsOf({ FABRIC_CONFIG: '/run/fabric.json' })).toMatch(/FABRIC_CONFIG: needs LEDGER_DRIVER=fabric/);
    expect(faultsOf({ LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: '/f.json', LEDGER_INTEGRATOR: 'true' })).toMatch(
      /LEDGER_INTEGRATOR: only the embedded ledger has an integrator/,
    );
  });
});
