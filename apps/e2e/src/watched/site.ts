import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { throwawayPostgres, throwawayRedis, type OwnPostgres, type ThrowawayRedis } from '@sealgate/testing';
import { adminClient, type AdminClient } from '../harness/admin-client.ts';
import { databaseVariables, migrate, programOf } from '../harness/bundle.ts';
import { prepareGateway, type Gateway } from '../harness/gateway-process.ts';
import { newDocumentKey, newServerSecret, newToken } from '../harness/new-secrets.ts';
import { newNoteKey } from '../harness/note-key.ts';
import { ledgerOrigin } from '../harness/surface-setup.ts';
import { AUDIENCE, CONSOLE_CLIENT, OPERATORS, startProvider, type Provider } from './provider.ts';

/** The pods of the site; each is one process. */
export const PODS = {
  'ledger-peer': 'ledger-peer',
  integrator: 'ledger-peer',
  'gateway-1': 'ingest-gateway',
  'gateway-2': 'ingest-gateway',
  'case-gate': 'case-gate',
  'risk-partner': 'risk-partner',
  console: 'console',
} as const;
export type PodName = keyof typeof PODS;

/** One process, with variables that are read at each start. */
export interface Pod {
  readonly name: PodName;
  readonly surface: string;
  readonly process: Gateway;
  readonly env: Record<string, string>;
}

/** Every surface as in production: on one database, with one integrator, without TLS. */
export interface WatchedSite {
  readonly folder: string;
  readonly postgres: OwnPostgres;
  readonly redis: ThrowawayRedis;
  readonly provider: Provider;
  readonly pods: Readonly<Record<PodName, Pod>>;
  /** The admin API of a pod. */
  admin(pod: Exclude<PodName, 'console'>): AdminClient;
  readonly adminToken: string;
  /** Of a caller of the ledger peer with all rights. */
  readonly peerKey: string;
  readonly checkpoints: string;
  stop(): Promise<void>;
}

export const PEER_CHANNEL = 'acme.main';
const MANY = '1000000';
const STORED = ['ledger-peer', 'ingest-gateway', 'case-gate', 'risk-partner'] as const;

/** Starts it, ready. `env` is for every process. */
export async function openWatchedSite(env: Readonly<Record<string, string>> = {}): Promise<WatchedSite> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-watched-'));
  const opened: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const release of opened.splice(0).reverse()) await release();
  };
  try {
    const postgres = await throwawayPostgres({ own: true, durable: true, settings: { max_connections: '200' } });
    opened.push(() => postgres.stop());
    for (const surface of STORED) await migrate({ url: postgres.url }, surface);
    const redis = await throwawayRedis();
    opened.push(() => redis.stop());
    const provider = await startProvider();
    opened.push(() => provider.stop());
    const [adminToken, peerKey] = [newToken(), newToken()];
    const made = { folder, postgres, redis, provider, adminToken, peerKey, checkpoints: join(folder, 'checkpoints') };
    const pods = await preparePods(made, env);
    const all = Object.values(pods);
    opened.push(() => Promise.all(all.map(({ process }) => process.kill().then(() => process.release()))));
    // The console needs the others.
    await Promise.all(all.filter(({ name }) => name !== 'console').map(({ process }) => process.start()));
    await pods.console.process.start();
    const admin: WatchedSite['admin'] = (pod) => adminClient(pods[pod].process.admin, adminToken);
    return { ...made, pods, admin, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Made = Omit<WatchedSite, 'pods' | 'admin' | 'stop'>;

async function preparePods(made: Made, env: Readonly<Record<string, string>>): Promise<Record<PodName, Pod>> {
  const note = newNoteKey(ledgerOrigin);
  const secrets = Object.fromEntries([...STORED, 'console'].map((surface) => [surface, newServerSecret()]));
  const pods: Partial<Record<PodName, Pod>> = {};
  for (const [name, surface] of Object.entries(PODS) as [PodName, string][]) {
    const own: Record<string, string> = {
      ...common(made, surface),
      SERVER_SECRETS: secrets[surface]!,
      ...(name === 'console'
        ? {}
        : name === 'integrator'
          ? { LEDGER_INTEGRATOR: 'true', LEDGER_SIGNING_KEY: note.signingKey, CHECKPOINT_DIR: made.checkpoints }
          : { LEDGER_VERIFIER_KEYS: note.verifierKey }),
      ...ownVariables(made, surface),
      ...env,
    };
    const logFile = join(made.folder, `${name}.log`);
    const process = await prepareGateway({ program: programOf(surface, 'main'), env: own, logFile });
    if (name === 'console') Object.assign(own, consoleVariables(made, process, pods as Record<PodName, Pod>));
    pods[name] = { name, surface, process, env: own };
  }
  return pods as Record<PodName, Pod>;
}

function common({ postgres, redis, provider, adminToken }: Made, surface: string): Record<string, string> {
  if (surface === 'console') return { REDIS_URL: redis.url };
  return {
    ...databaseVariables(postgres.url, surface),
    DATABASE_POOL_SIZE: '8',
    REDIS_URL: redis.url,
    REPLICAS: '2',
    LEDGER_ORIGIN: ledgerOrigin,
    OIDC_ISSUERS: JSON.stringify([{ issuer: provider.issuer, audience: { admin: [AUDIENCE] } }]),
    ADMIN_OIDC: JSON.stringify([{ claim: 'groups', value: OPERATORS, role: 'operator' }]),
    ADMIN_TOKEN_HASHES: hash('sha256', adminToken, 'hex'),
    ADMIN_RATE_PER_SECOND: MANY,
    ADMIN_RATE_BURST: MANY,
    RATE_PER_SECOND: MANY,
    RATE_BURST: MANY,
  };
}

function ownVariables({ folder, peerKey }: Made, surface: string): Record<string, string> {
  switch (surface) {
    case 'case-gate':
      return { DOCUMENT_SIGNING_KEY: newDocumentKey(), GATE_RATE_PER_SECOND: MANY, GATE_RATE_BURST: MANY };
    case 'ledger-peer': {
      const mappingFile = join(folder, 'mapping.json');
      const mappings = [{ type: 'asset', channel: PEER_CHANNEL, chaincode: 'records' }];
      writeFileSync(mappingFile, JSON.stringify({ mappings }));
      return {
        MAPPING_FILE: mappingFile,
        API_KEY_HASHES: hash('sha256', peerKey, 'hex'),
        SUBSCRIPTION_ALLOWED_CIDRS: '127.0.0.0/8',
      };
    }
    case 'risk-partner':
      return { PUBLIC_URL: 'https://risk.watched.test' };
    default:
      return {};
  }
}

function consoleVariables({ provider }: Made, process: Gateway, pods: Record<PodName, Pod>): Record<string, string> {
  const first = ['risk-partner', 'case-gate', 'ledger-peer', 'gateway-1'] as const;
  const surfaces = first.map((name) => {
    const { surface, process: of } = pods[name];
    return { id: surface, apiUrl: of.public.origin, adminUrl: of.admin.origin, opsUrl: of.ops.origin };
  });
  return {
    PUBLIC_URL: process.public.origin,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CONSOLE_CLIENT,
    CONSOLE_SURFACES: JSON.stringify(surfaces),
    OIDC_AUDIENCES: JSON.stringify(surfaces.map(({ id }) => ({ surface: id, listener: 'admin', resource: AUDIENCE }))),
  };
}
