import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeLedger } from '@sealgate/ledger-port/contract';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { readConnectionFile } from './connection-file.ts';
import type { FabricClient } from './fabric-client.ts';
import { ContractRefusedError, MisconfiguredError } from './fabric-errors.ts';
import { fabricLedger, type FabricLedger } from './fabric-ledger.ts';
import { fabricMigrations } from './fabric-migrations.ts';
import { openFabric } from './open-fabric.ts';

/**
 * The contract suite on a real network started by `npm run fabric:up`: FABRIC_CONFIG names its connection file, whose
 * first channel holds all of ours. Each run uses new channels.
 */
const config = process.env['FABRIC_CONFIG'];

if (config === undefined) {
  describe('the ledger port: fabric, on a real network', () => {
    it.skip('needs FABRIC_CONFIG: `npm run fabric:up` prints it', () => undefined);
  });
} else {
  const connection = readConnectionFile(config);
  let postgres: ThrowawayPostgres;
  let sql: Database;
  let client: FabricClient;
  let ledger: FabricLedger;
  let channels = 0;
  const run = `r${randomBytes(6).toString('hex')}`;
  const newChannel = () => ({ network: run, channel: `${run}.c${(channels += 1)}` });

  beforeAll(async () => {
    postgres = await throwawayPostgres();
    await migrate({ url: postgres.url, sets: [fabricMigrations('desk')] });
    sql = openDatabase({
      url: postgres.url,
      applicationName: 'test',
      maxConnections: 8,
      connectTimeoutMs: 2000,
      deadlineMs: 10_000,
    });
    client = openFabric({ connection, journal: { sql, schema: 'desk' }, now: Date.now });
    ledger = fabricLedger({ client, sql, schema: 'desk', channels: connection.channels, now: Date.now });
  }, 60_000);

  afterAll(async () => {
    await client.close();
    await sql.close();
    await postgres.stop();
  });

  describeLedger('fabric, on a real network', { ledger: () => ledger, newChannel });

  describe('a real peer', () => {
    const channel = connection.channels[0]!.name;
    const call = (more: object) => ({ channel, chaincode: 'records', transaction: 'read', args: ['a'], ...more });

    it("refuses with the contract's message", async () => {
      const refused = client.submit(call({ transaction: 'createMany', args: ['[]'] }));
      await expect(refused).rejects.toThrow(ContractRefusedError);
    });

    it('reports an unknown transaction, and an unknown contract', async () => {
      for (const more of [{ transaction: 'nothing' }, { contract: 'nothing' }]) {
        const reason = 'function_missing';
        await expect(client.evaluate(call(more))).rejects.toMatchObject({ name: 'MisconfiguredError', reason });
        await expect(client.submit(call(more))).rejects.toMatchObject({ name: 'MisconfiguredError', reason });
      }
    });

    it('reports an unknown chaincode', async () => {
      await expect(client.evaluate(call({ chaincode: 'nothing' }))).rejects.toThrow(MisconfiguredError);
      await expect(client.submit(call({ chaincode: 'nothing' }))).rejects.toThrow(MisconfiguredError);
    });
  });
}
