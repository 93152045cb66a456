import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redisAvailable, throwawayRedis, type ThrowawayPostgres } from '@sealgate/testing';
import { adminClient, type AdminClient } from './admin-client.ts';
import { migrate, migratedPostgres, programOf, type Database } from './bundle.ts';
import { prepareGateway, type Gateway } from './gateway-process.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { ledgerOrigin } from './installation.ts';
import { newNoteKey } from './note-key.ts';

const SURFACE = 'ledger-peer';

/** Processes of the ledger peer on a fresh database. */
export interface PeerSetup {
  readonly peers: readonly Gateway[];
  /** The first of them. */
  readonly peer: Gateway;
  /** A key with all rights; its limits are too high to matter. */
  readonly key: string;
  /** A key of another family. */
  readonly otherKey: string;
  readonly admin: AdminClient;
  readonly verifierKey: string;
  readonly channel: string;
  /** For files of the story; removed with the setup. */
  readonly folder: string;
  /** Sends a request to the first peer, with the key unless other headers are given. */
  ask(method: string, path: string, how?: Asking): Promise<HttpAnswer>;
  stop(): Promise<void>;
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
    SERVER_SECRETS: `e1:${randomBytes(32).toString('hex')}`,
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
    /** Variables in addition to those that an installation needs; `undefined` removes one. */
    readonly env?: Readonly<Record<string, string | undefined>>;
    /** A database of the story's own, which the story stops itself. */
    readonly postgres?: ThrowawayPostgres & Database;
  } = {},
): Promise<PeerSetup> {
  const postgres = options.postgres ?? (await migratedPostgres(SURFACE));
  const redis = redisAvailable && options.postgres === undefined ? await throwawayRedis() : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-peer-'));
  const [key, otherKey, adminToken] = [newKey(), newKey(), newKey()];
  const noteKey = newNoteKey(ledgerOrigin);
  await migrate(postgres, SURFACE);
  const common: Record<string, string | undefined> = {
    ...peerEnv(folder, postgres.url),
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
    API_KEY_HASHES: `${keyHash(key)},${keyHash(otherKey)}`,
    ADMIN_TOKEN_HASHES: keyHash(adminToken),
    LEDGER_INTEGRATOR: 'true',
    LEDGER_SIGNING_KEY: noteKey.signingKey,
    ...options.env,
  };
  const kept = Object.fromEntries(
    Object.entries(common).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const peers = await Promise.all(
    Array.from({ length: options.peers ?? 1 }, (_, index) =>
      prepareGateway({
        program: programOf(SURFACE, 'main'),
        env: { ...kept, CHECKPOINT_DIR: join(folder, `checkpoints-${index}`) },
        logFile: join(folder, `peer-${index}.log`),
      }),
    ),
  );
  const peer = peers[0]!;
  const stop = async (): Promise<void> => {
    try {
      await Promise.all(peers.map((one) => (one.isRunning ? one.stop() : Promise.resolve(0))));
    } finally {
      for (const one of peers) one.release();
      rmSync(folder, { recursive: true, force: true });
      await Promise.all([options.postgres === undefined ? postgres.stop() : undefined, redis?.stop()]);
    }
  };
  try {
    await Promise.all(peers.map((one) => one.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    peers,
    peer,
    key,
    otherKey,
    admin: adminClient(peer.admin, adminToken),
    verifierKey: noteKey.verifierKey,
    channel,
    folder,
    stop,
    ask: (method, path, how = {}) => ask(how.peer ?? peer, { method, path, key }, how),
  };
}

function ask(
  peer: Gateway,
  { method, path, key }: { method: string; path: string; key: string },
  { body, headers = {}, timeoutMs }: Asking,
): Promise<HttpAnswer> {
  const all = {
    'X-Api-Key': key,
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...headers,
  };
  const lines = Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return peer.public.send({
    method,
    path,
    headers: lines,
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
