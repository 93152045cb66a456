import { describe, expect, it } from '@jest/globals';
import { documentSigner, generateDocumentKey } from '@sealgate/envelope';
import { readConfig } from './config.ts';

describe('the configuration', () => {
  const pem = generateDocumentKey();
  const env = {
    DATABASE_URL: 'postgres://u:p@127.0.0.1/x',
    SERVER_SECRETS: `s1:${'x'.repeat(32)}`,
    LEDGER_ORIGIN: 'ledger.example',
    DOCUMENT_SIGNING_KEY: pem,
  };

  it('requires a database, secrets, an origin and a signing key, and has defaults for the rest', () => {
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

  it('accepts a PEM key with escaped line feeds, and retired keys as a JWK set', () => {
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
  ])('rejects an invalid %s by name, and never shows a secret', (name, more) => {
    expect(() => readConfig({ ...env, ...more })).toThrow(name);
    expect(() => readConfig({ ...env, ...more })).not.toThrow(/secret-of-mine/);
  });
});
