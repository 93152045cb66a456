import { describe, expect, it } from '@jest/globals';
import { configtx, coreYaml, cryptoConfig, ordererYaml } from './configuration.ts';
import { networkPlan } from './network-plan.ts';

const plan = networkPlan('/data with "quotes"', { portBase: 5000, batchTimeoutMs: 350 });
const [north, south] = plan.organizations;
const files = {
  'crypto-config.yaml': cryptoConfig(plan),
  'configtx.yaml': configtx(plan),
  'orderer.yaml': ordererYaml(plan.orderer),
  'core.yaml of north': coreYaml(north!, plan),
  'core.yaml of south': coreYaml(south!, plan),
};

describe.each(Object.entries(files))('%s', (_name, text) => {
  it('uses no address but loopback', () => {
    const addresses = [...text.matchAll(/\b\d+\.\d+\.\d+\.\d+\b/g)].map(([address]) => address);
    expect(addresses.length).toBeGreaterThan(0);
    expect(addresses.filter((address) => address !== '127.0.0.1')).toEqual([]);
  });

  it('has no missing values', () => {
    expect(text).not.toMatch(/undefined|null|NaN|\[object/);
  });

  it('quotes paths with special characters', () => {
    const bare = text
      .split('\n')
      .filter((line) => line.includes('/data with') && !line.includes('"/data with \\"quotes\\"'));
    expect(bare).toEqual([]);
  });
});

describe('configtx.yaml', () => {
  it('cuts blocks by time, count and size', () => {
    expect(files['configtx.yaml']).toMatch(/BatchTimeout: 350ms/);
    expect(files['configtx.yaml']).toMatch(/MaxMessageCount: 500/);
    expect(files['configtx.yaml']).toMatch(/PreferredMaxBytes: 2 MB/);
    expect(files['configtx.yaml']).toMatch(/AbsoluteMaxBytes: 10 MB/);
  });

  it('has an anchor peer for each organisation', () => {
    const anchors = [...files['configtx.yaml'].matchAll(/- \{ Host: 127\.0\.0\.1, Port: (\d+) \}/g)];
    expect(anchors.map(([, port]) => port)).toEqual(['5011', '5021']);
  });
});

describe('orderer.yaml', () => {
  it('serves TLS, and requires a client certificate on the admin listener', () => {
    const [, admin = ''] = files['orderer.yaml'].split('\nAdmin:');
    expect(files['orderer.yaml']).toMatch(/ListenPort: 5001\n {2}TLS:\n {4}Enabled: true/);
    expect(admin).toMatch(/ListenAddress: 127\.0\.0\.1:5002\n {2}TLS:\n {4}Enabled: true/);
    expect(admin).toMatch(/ClientAuthRequired: true/);
  });
});

describe('core.yaml', () => {
  it('advertises the peer to the other organisation at its listening port', () => {
    expect(files['core.yaml of south']).toMatch(/ {2}listenAddress: 127\.0\.0\.1:5021\n/);
    expect(files['core.yaml of south']).toMatch(/externalEndpoint: 127\.0\.0\.1:5021\n/);
    expect(files['core.yaml of south']).toMatch(/tls:\n {4}enabled: true/);
  });

  it('requires client certificates of both organisations only where asked to', () => {
    expect(files['core.yaml of north']).toMatch(/clientAuthRequired: false\n/);
    const strict = networkPlan('/data', { portBase: 5000, batchTimeoutMs: 350, mutualTls: true });
    const yaml = coreYaml(strict.organizations[0]!, strict);
    expect(yaml).toMatch(/clientAuthRequired: true\n/);
    expect(yaml).toMatch(
      /clientRootCAs: \{ files: \["[^"]*north\.test[^"]*ca\.crt", "[^"]*south\.test[^"]*ca\.crt"\] \}/,
    );
  });

  it('limits concurrent calls as Fabric does by default', () => {
    expect(files['core.yaml of north']).toMatch(/gatewayService: 500/);
  });
});
