import { hash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { redisAvailable, throwawayRedis } from '@sealgate/testing';
import { migratedPostgres, type Database } from './bundle.ts';
import type { Gateway } from './gateway-process.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { newServerSecret } from './new-secrets.ts';
import { given, ledgerOrigin, surfaceSetup, type SurfaceSetup, type Variables } from './surface-setup.ts';

/** Processes of the ledger peer on a fresh database. */
export interface PeerSetup extends SurfaceSetup {
  readonly peers: readonly Gateway[];
  /** The first of them. */
  readonly peer: Gateway;
  /** A key with all rights; its limits are too high to matter. */
  readonly key: string;
  /** A key of another family. */
  readonly otherKey: string;
  readonly channel: string;
  /** Sends a request to the first peer, with the key unless other headers are given. */
  ask(method: string, path: string, how?: Asking): Promise<HttpAnswer>;
}

interface Asking {
  /** A string or Buffer is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The index of the peer in the setup; default the first. */
  readonly peer?: Gateway;
  readonly timeoutMs?: number;
}

const channel = 'acme.main';
const mapping = {
  mappings: [
    { type: 'asset', channel, chaincode: 'records' },
    { type: 'demo.*', channel, chaincode: 'records' },
    { type: 'other.*', channel: 'acme.other', chaincode: 'records' },
  ],
};

export const keyHash = (key: string): string => hash('sha256', key, 'hex');
export const newKey = (): string => randomBytes(24).toString('base64url');

/** Variables of every peer; a story that starts its own begins with them. */
export function peerEnv(folder: string, databaseUrl: string): Record<string, string> {
  const mappingFile = join(folder, 'mapping.json');
  writeFileSync(mappingFile, JSON.stringify(mapping));
  return {
    DATABASE_URL: databaseUrl,
    SERVER_SECRETS: newServerSecret(),
    LEDGER_ORIGIN: ledgerOrigin,
    MAPPING_FILE: mappingFile,
    RATE_PER_SECOND: '1000000',
    RATE_BURST: '1000000',
  };
}

/** Migrates the database and starts peers on it, as an operator would. */
export async function peerSetup(
  options: {
    /** Processes on one database; default 1. */
    readonly peers?: number;
    /** Variables in addition to those that an installation needs. */
    readonly env?: Variables;
    /** A database of the story's own, which the story stops itself. */
    readonly postgres?: Database;
  } = {},
): Promise<PeerSetup> {
  const own = options.postgres === undefined ? await migratedPostgres('ledger-peer') : undefined;
  const postgres = options.postgres ?? own!;
  const redis = redisAvailable && own !== undefined ? await throwawayRedis() : undefined;
  const stopServers = () => Promise.all([own?.stop(), redis?.stop()]);
  const [key, otherKey] = [newKey(), newKey()];
  try {
    const setup = await surfaceSetup({
      surface: 'ledger-peer',
      postgres,
      redisUrl: redis?.url,
      processes: options.peers,
      env: (folder) => ({
        ...peerEnv(folder, postgres.url),
        API_KEY_HASHES: `${keyHash(key)},${keyHash(otherKey)}`,
        ...options.env,
      }),
    });
    const { processes: peers } = setup;
    const peer = peers[0]!;
    return {
      ...setup,
      peers,
      peer,
      key,
      otherKey,
      channel,
      stop: async () => {
        await setup.stop().finally(stopServers);
      },
      ask: (method, path, how = {}) => ask(how.peer ?? peer, { method, path, key }, how),
    };
  } catch (error) {
    await stopServers();
    throw error;
  }
}

function ask(
  peer: Gateway,
  { method, path, key }: { method: string; path: string; key: string },
  { body, headers = {}, timeoutMs }: Asking,
): Promise<HttpAnswer> {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return peer.public.send({
    method,
    path,
    headers: given({
      'X-Api-Key': key,
      'Content-Type': body === undefined ? undefined : 'application/json',
      ...headers,
    }),
    ...(body === undefined ? {} : { body: text ?? '' }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
}

/** The answer of a write, in the form of the contract. */
export interface SyncSummary {
  readonly summary: {
    readonly total: number;
    readonly succeeded: number;
    readonly failed: number;
    readonly pending: number;
  };
  readonly succeeded: readonly string[];
  readonly failed: readonly {
    readonly id: string;
    readonly index: number;
    readonly code: string;
    readonly retryable: boolean;
  }[];
  readonly pending: readonly { readonly id: string; readonly index: number; readonly transactionId: string }[];
  readonly transactionIds: readonly string[];
  readonly transactions: readonly {
    readonly transactionId: string;
    readonly channel: string;
    readonly chaincode: string;
    readonly blockNumber: number | null;
    readonly assetIds: readonly string[];
  }[];
  readonly jobId?: string;
}
