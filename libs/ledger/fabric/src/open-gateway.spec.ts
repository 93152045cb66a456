import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { Metrics, type Log } from '@sealgate/observability';
import type { Database } from '@sealgate/storage';
import { GatewayNotOpenedError, openRecordsLedger } from './open-gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-gateway-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('a service that signs for itself needs a default identity: nothing is opened without one', () => {
  const fabricConfig = join(folder, 'connection.json');
  const identities = [{ name: 'clerk', mspId: 'Org1MSP', mspFolder: 'msp' }];
  const network = { peers: [{ endpoint: 'localhost:7051' }], channels: [{ name: 'main' }] };
  writeFileSync(fabricConfig, JSON.stringify({ ...network, identities, default: null }));
  const owned: string[] = [];
  const open = () =>
    openRecordsLedger({
      config: { fabricConfig },
      // Neither is used: the file is read first.
      sql: undefined as unknown as Database,
      log: undefined as unknown as Log,
      schema: 'ingest',
      now: Date.now,
      metrics: new Metrics('test', { processMetrics: false }),
      own: (name) => void owned.push(name),
    });
  expect(open).toThrow(
    new GatewayNotOpenedError('FABRIC_CONFIG: default is null, but this service signs as the default identity.'),
  );
  expect(owned).toEqual([]);
});
