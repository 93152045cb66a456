import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { Contract, GatewayError, Network } from '@hyperledger/fabric-gateway';
import { connectClient, type ConnectedClient } from '@sealgate/local-services/fabric';
import type { StandInPeer, StandInPeerOptions } from '../stand-in-types.ts';
import { startStandInPeer } from '../start-stand-in-peer.ts';

const contracts = join(import.meta.dirname, '../../../../../apps/ledger-chaincode');

interface Suite {
  readonly peer: StandInPeer;
  readonly client: ConnectedClient;
  /** Channel `main`; channel `audit` has only `records`. */
  readonly network: Network;
  readonly records: Contract;
  readonly assets: Contract;
}

/** One stand-in per spec file and a new client per test; faults and holds are reset after each. */
export function standInSuite(options: Partial<StandInPeerOptions> = {}): Suite {
  let peer: StandInPeer;
  let client: ConnectedClient;
  const network = () => client.gateway.getNetwork('main');
  beforeAll(async () => {
    peer = await startStandInPeer({
      channels: ['main', 'audit'],
      chaincodes: [
        { name: 'records', program: join(contracts, 'src/main.ts') },
        { name: 'assets', program: join(contracts, 'test/basic-assets/main.ts'), channels: ['main'] },
      ],
      ...options,
    });
  }, 60_000);
  afterAll(() => peer.close());
  beforeEach(() => {
    client = connectClient(peer);
  });
  afterEach(() => {
    peer.faults.clear();
    peer.orderer.release();
    peer.blockStreams.release();
    client.close();
  });
  return {
    get peer() {
      return peer;
    },
    get client() {
      return client;
    },
    get network() {
      return network();
    },
    get records() {
      return network().getContract('records');
    },
    get assets() {
      return network().getContract('assets');
    },
  };
}

let last = 0;
export const freshId = () => `id-${(last += 1)}`;

/** One record as `createMany` takes it. */
export const record = (id = freshId(), text = '') =>
  JSON.stringify([{ id, type: 'note', owner: null, data: JSON.stringify({ text }), extra: null }]);

export const createAsset = (id = freshId()) => ['CreateAsset', id, 'red', '1', 'me', '2'] as const;

/** The error of an attempt; undefined if it succeeded. */
export const failureOf = (attempt: Promise<unknown>): Promise<GatewayError | undefined> =>
  attempt.then(
    () => undefined,
    (error: unknown) => error as GatewayError,
  );

export const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString();

/** The first item of a stream. @throws Error if it is empty. */
export async function firstOf<Item>(stream: AsyncIterable<Item>): Promise<Item> {
  for await (const item of stream) return item;
  throw new Error('The stream ended.');
}
