import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { ChannelMap, openFabric, parseConnection, type FabricClient } from '@sealgate/ledger-fabric';
import { startStandInPeer, type StandInPeer } from '@sealgate/testing/fabric';
import { fabricAssets } from '../data/fabric-assets.ts';
import type { AssetLedger } from '../domain/asset-ledger.ts';
import type { Mappings, Target } from '../domain/mapping.ts';
import { parseMappings } from '../domain/parse-mappings.ts';
import { SCHEMA } from '../peer-migrations.ts';
import { MAPPING, programOf } from './fabric-mapping.ts';
import { openTestDatabase, type TestDatabase } from './open-test-peer.ts';

interface Opened {
  readonly database: TestDatabase;
  readonly peer: StandInPeer;
  readonly client: FabricClient;
  readonly channels: ChannelMap;
  readonly ledger: AssetLedger;
}

/** A stand-in network with our contract and a third-party one, mapped by MAPPING, for the tests of a file. */
export interface FabricSuite extends Opened {
  readonly mappings: Mappings;
  /** The target of a mapped type. */
  target(type: string): Target;
}

export function fabricSuite(): FabricSuite {
  let opened: Opened | undefined;
  const part = <Name extends keyof Opened>(name: Name): Opened[Name] => {
    if (opened === undefined) throw new Error('The network is opened before the first test.');
    return opened[name];
  };
  beforeAll(async () => {
    opened = await openNetwork();
  }, 120_000);
  afterEach(() => part('peer').faults.clear());
  afterAll(async () => {
    await opened?.client.close();
    await opened?.peer.close();
    await opened?.database.close();
  });
  const mappings = parseMappings(JSON.stringify(MAPPING), { driver: 'fabric', defaultChannel: undefined });
  return {
    mappings,
    target: (type) => mappings.find(type)!,
    get database() {
      return part('database');
    },
    get peer() {
      return part('peer');
    },
    get client() {
      return part('client');
    },
    get channels() {
      return part('channels');
    },
    get ledger() {
      return part('ledger');
    },
  };
}

async function openNetwork(): Promise<Opened> {
  const database = await openTestDatabase();
  const peer = await startStandInPeer({
    chaincodes: [
      { name: 'records', program: programOf('src/main.ts') },
      { name: 'basic', program: programOf('test/basic-assets/main.ts'), collections: ['pins'] },
    ],
    channels: ['main', 'shared'],
    furtherOrganizations: ['Org2MSP'],
  });
  const { mspId, certFile, keyFile } = peer.identity;
  const connection = parseConnection(
    {
      mspId,
      certFile,
      keyFile,
      peers: [{ endpoint: peer.url, ...(peer.tlsCaFile === undefined ? {} : { tlsCaFile: peer.tlsCaFile }) }],
      channels: [
        { name: 'main', holds: ['acme.main'] },
        { name: 'shared', holds: ['*'] },
      ],
      deadlinesMs: { evaluate: 2000, endorse: 2000, submit: 1000, commitStatus: 1000, answer: 3000 },
    },
    '/connection.json',
  );
  const client = openFabric({ connection, journal: { sql: database.sql, schema: SCHEMA }, now: Date.now });
  const channels = new ChannelMap(connection.channels);
  return { database, peer, client, channels, ledger: fabricAssets({ client, channels, settleWithinMs: 500 }) };
}
