import { fileURLToPath } from 'node:url';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { throwawayPostgres } from '@sealgate/testing';
import { startStandInPeer, type StandInPeer, type StandInPeerOptions } from '@sealgate/testing/fabric';
import { parseConnection, type FabricConnection } from '../connection-file.ts';
import type { FabricClient } from '../fabric-client.ts';
import { fabricLedger, type FabricLedger, type FabricLedgerOptions } from '../fabric-ledger.ts';
import { fabricMigrations } from '../fabric-migrations.ts';
import { openFabric, type FabricOptions } from '../open-fabric.ts';

/** Stands for a surface's schema. */
export const SCHEMA = 'desk';

const RECORDS = fileURLToPath(new URL('../../../../../apps/ledger-chaincode/src/main.ts', import.meta.url));

export interface TestFabric {
  readonly peer: StandInPeer;
  readonly sql: Database;
  readonly url: string;
  /** The content of a connection file, with short deadlines. */
  connection(more?: Record<string, unknown>): FabricConnection;
  /** A separate client, like another process, on the same journal; closed with the others. */
  open(more?: Partial<FabricOptions> & { leaseMs?: number; connection?: FabricConnection }): FabricClient;
  openLedger(
    more?: Partial<FabricLedgerOptions>,
    how?: { leaseMs?: number; connection?: FabricConnection },
  ): { ledger: FabricLedger; client: FabricClient };
  close(): Promise<void>;
}

/** The stand-in peer with our own contract, and a migrated journal on a real PostgreSQL. */
export async function openTestFabric(options: Partial<StandInPeerOptions> = {}): Promise<TestFabric> {
  const peer = await startStandInPeer({ chaincodes: [{ name: 'records', program: RECORDS }], ...options });
  const postgres = await throwawayPostgres();
  await migrate({ url: postgres.url, sets: [fabricMigrations(SCHEMA)] });
  const sql = openDatabase({
    url: postgres.url,
    applicationName: 'test',
    maxConnections: 8,
    connectTimeoutMs: 2000,
    deadlineMs: 10_000,
  });
  const clients: FabricClient[] = [];
  const connection = (more: Record<string, unknown> = {}) => parseConnection(fileOf(peer, more), '/connection.json');
  const open: TestFabric['open'] = ({ leaseMs = 15_000, ...more } = {}) => {
    const client = openFabric({
      connection: connection(),
      journal: { sql, schema: SCHEMA, leaseMs },
      now: Date.now,
      ...more,
    });
    clients.push(client);
    return client;
  };
  return {
    peer,
    sql,
    url: postgres.url,
    connection,
    open,
    openLedger: (more = {}, how = {}) => {
      const onSettlement: FabricOptions['onSettlement'] = (...settled) => ledger.onSettlement(...settled);
      const client: FabricClient = open({ ...how, onSettlement });
      const { channels } = connection();
      const ledger = fabricLedger({ client, sql, schema: SCHEMA, channels, now: Date.now, ...more });
      return { ledger, client };
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await sql.close();
      await postgres.stop();
      await peer.close();
    },
  };
}

/** The content of a connection file for the stand-in. */
export function fileOf(peer: StandInPeer, more: Record<string, unknown>): unknown {
  const { mspId, certFile, keyFile } = peer.identity;
  const tls = peer.tlsCaFile === undefined ? {} : { tlsCaFile: peer.tlsCaFile };
  return {
    mspId,
    certFile,
    keyFile,
    peers: [{ endpoint: peer.url, ...tls }],
    channels: [{ name: 'main', holds: ['*'] }],
    deadlinesMs: { evaluate: 2000, endorse: 2000, submit: 1000, commitStatus: 1000, answer: 5000 },
    ...more,
  };
}
