import { hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  executeSql,
  postgresPair,
  smallDisk,
  throwawayRedis,
  type PostgresPair,
  type SmallDisk,
  type ThrowawayRedis,
} from '@sealgate/testing';
import { migrate } from '../harness/bundle.ts';
import { realNetwork, type RealNetwork } from '../harness/fabric-real.ts';
import { newDocumentKey, newServerSecret, newToken } from '../harness/new-secrets.ts';
import { newNoteKey, type NoteKey } from '../harness/note-key.ts';
import { ledgerOrigin } from '../harness/surface-setup.ts';
import { certificatesIn, type Certificates } from './certificates.ts';
import { audienceOf, consoleEnv, forwardsTo, operatorEnv, PEOPLE } from './console-settings.ts';
import { FABRIC_TYPES, fabricEnv } from './fabric.ts';
import type { Surface } from './history.ts';
import { HOSTS, namesIn, redisByName, type Names } from './names.ts';
import { prepareProvider, type SiteProvider } from './provider/site-provider.ts';
import { prepareReplica, type Replica } from './replica.ts';

/** The surfaces that have a database; each has its own in the pair. */
export const STORED = ['ingest-gateway', 'case-gate', 'risk-partner', 'ledger-peer'] as const;
export type Stored = (typeof STORED)[number];
/** What may be run. */
export const SURFACES = [...STORED, 'console'] as const;

/** Everything that runs, on this machine: two replicas of each surface, PostgreSQL with a standby, Redis, a provider. */
export interface Site {
  readonly folder: string;
  readonly pair: PostgresPair;
  /** Where the data of each server of the pair lies, in the order of `pair`; none where no small disk may be mounted. */
  readonly disks: readonly SmallDisk[];
  readonly redis: ThrowawayRedis;
  /** Undefined where no console runs. */
  readonly provider: SiteProvider | undefined;
  /** Where the ledger peers write; undefined: to the embedded ledger. */
  readonly fabric: RealNetwork | undefined;
  readonly names: Names;
  readonly certificates: Certificates;
  readonly noteKey: NoteKey;
  readonly replicas: readonly Replica[];
  replicasOf(surface: Surface): readonly Replica[];
  /** The superuser's URL of its database on the current primary. */
  databaseOf(surface: Stored): string;
  /** The URL with which the service reaches its database, through these `host:port`; default: both servers by name. */
  serviceUrl(surface: Stored, servers?: string): string;
  /** Of the two ledger peers' callers. */
  readonly peerKeys: readonly [string, string];
  /** The types of assets that ledger peers take. */
  readonly assetTypes: readonly string[];
  stop(): Promise<void>;
}

const DATABASES: Readonly<Record<Stored, string>> = {
  'ingest-gateway': 'ingest',
  'case-gate': 'gate',
  'risk-partner': 'risk',
  'ledger-peer': 'peer',
};
const REPLICAS = 2;
const DISK_MEBIBYTES = 8_192;
const MANY = '1000000';

const mapping = (channel: string) => ({ mappings: [{ type: 'asset', channel, chaincode: 'records' }] });
const EMBEDDED_TYPES = ['asset'];
export const PEER_CHANNEL = 'acme.main';

/** Starts it, ready. `fabricFolder`: of a running network, which its ledger peers write to. */
export async function openSite(surfaces: readonly Surface[] = SURFACES, fabricFolder?: string): Promise<Site> {
  const stored = STORED.filter((one) => surfaces.includes(one));
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-chaos-'));
  const opened: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const release of opened.splice(0).reverse()) await release();
  };
  try {
    const disks = [1, 2].flatMap((number) => smallDisk(DISK_MEBIBYTES, `disk-full of server ${number}`) ?? []);
    for (const disk of disks) opened.push(() => disk.release());
    const folders = disks.length === 2 ? disks.map(({ path }) => path) : [];
    const pair = await postgresPair({ folders, settings: { max_connections: '200' } });
    opened.push(() => pair.stop());
    const redis = await throwawayRedis();
    opened.push(() => redis.stop());
    const provider = surfaces.includes('console')
      ? await prepareProvider({ folder, audiences: stored.map(audienceOf), people: PEOPLE })
      : undefined;
    opened.push(() => provider?.kill());
    const fabric = fabricFolder === undefined ? undefined : await realNetwork(fabricFolder);
    opened.push(() => fabric?.close());
    const parts = { folder, pair, disks, redis, provider, fabric, noteKey: newNoteKey(ledgerOrigin) };
    const site = siteOf(parts, await prepareReplicas(parts, stored), stop);
    opened.push(() => Promise.all(site.replicas.map((one) => one.process.kill().then(() => one.process.release()))));
    await provider?.start();
    const [consoles, others] = [site.replicasOf('console'), site.replicas.filter((one) => one.surface !== 'console')];
    await Promise.all(others.map((replica) => replica.start()));
    await Promise.all(consoles.map((replica) => replica.start()));
    return site;
  } catch (error) {
    await stop();
    throw error;
  }
}

type Parts = Pick<Site, 'folder' | 'pair' | 'disks' | 'redis' | 'provider' | 'fabric' | 'noteKey'>;
type Made = Pick<Site, 'names' | 'certificates' | 'replicas' | 'peerKeys'>;

function siteOf(parts: Parts, made: Made, stop: () => Promise<void>): Site {
  return {
    ...parts,
    ...made,
    assetTypes: parts.fabric === undefined ? EMBEDDED_TYPES : FABRIC_TYPES,
    replicasOf: (surface) => made.replicas.filter((one) => one.surface === surface),
    databaseOf: (surface) => onPrimary(parts.pair, surface),
    serviceUrl: (surface, servers) => urlOf(parts.pair, surface, servers),
    stop,
  };
}

const onPrimary = (pair: PostgresPair, surface: Stored): string =>
  Object.assign(new URL(pair.primaryUrl), { pathname: `/${DATABASES[surface]}` }).href;

/** Roles as in production; the ledger peer's job makes none here. */
function urlOf(pair: PostgresPair, surface: Stored, servers?: string): string {
  const [, login = '', hosts = ''] = /^postgresql:\/\/([^@]*)@([^/]*)\//.exec(pair.url) ?? [];
  const [one, two] = hosts.split(',').map((host) => host.split(':')[1]);
  const named = servers ?? `${HOSTS.one}:${one},${HOSTS.two}:${two}`;
  const role = surface === 'ledger-peer' ? login : 'service:service';
  return `postgresql://${role}@${named}/${DATABASES[surface]}?target_session_attrs=read-write`;
}

async function prepareReplicas(parts: Parts, surfaces: readonly Stored[]): Promise<Made> {
  const { folder, pair } = parts;
  const [names, certificates] = [namesIn(folder), certificatesIn(folder)];
  const peerKeys = [newToken(), newToken()] as const;
  const replicas: Replica[] = [];
  for (const surface of surfaces) {
    await executeSql(pair.primaryUrl, `CREATE DATABASE ${DATABASES[surface]} TEMPLATE template0`);
    await migrate({ url: onPrimary(pair, surface) }, surface);
    const adminToken = newToken();
    const common = {
      ...commonEnv(parts, names, surface),
      ADMIN_TOKEN_HASHES: sha256(adminToken),
      ...ownEnv(surface, { ...parts, certificates, peerKeys }),
    };
    const tls = surface === 'risk-partner' ? ({ scheme: 'https', ca: certificates.ca } as const) : undefined;
    for (let index = 0; index < REPLICAS; index += 1) {
      const env = { ...common, CHECKPOINT_DIR: checkpointsOf(folder, surface, index) };
      replicas.push(await prepareReplica({ surface, index, folder, env, adminToken, tls }));
    }
  }
  const consoles = await prepareConsoles(parts, names, replicas);
  return { names, certificates, replicas: [...replicas, ...consoles], peerKeys };
}

async function prepareConsoles(
  { folder, provider, redis }: Parts,
  { nodeOptions }: Names,
  replicas: readonly Replica[],
): Promise<readonly Replica[]> {
  if (provider === undefined) return [];
  const surfaces = [...new Set(replicas.map(({ surface }) => surface))];
  const common = consoleEnv({ provider, surfaces, redisUrl: redis.url, nodeOptions });
  const consoles: Replica[] = [];
  for (let index = 0; index < REPLICAS; index += 1) {
    const env = { ...common, ...forwardsTo(replicas, index) };
    consoles.push(await prepareReplica({ surface: 'console', index, folder, env, adminToken: '' }));
  }
  return consoles;
}

/** Where a replica keeps its checkpoints. */
export const checkpointsOf = (folder: string, surface: string, index: number): string =>
  join(folder, `checkpoints-${surface}-${index}`);

function commonEnv(
  { folder, pair, redis, provider, fabric, noteKey }: Parts,
  names: Names,
  surface: Stored,
): Record<string, string> {
  const stateDir = join(folder, `state-${surface}`);
  mkdirSync(stateDir);
  return {
    NODE_OPTIONS: names.nodeOptions,
    DATABASE_URL: urlOf(pair, surface),
    DATABASE_POOL_SIZE: '8',
    REDIS_URL: redisByName(redis.url),
    REPLICAS: String(REPLICAS),
    STATE_DIR: stateDir,
    SERVER_SECRETS: newServerSecret(),
    LEDGER_ORIGIN: ledgerOrigin,
    ADMIN_RATE_PER_SECOND: MANY,
    ADMIN_RATE_BURST: MANY,
    RATE_PER_SECOND: MANY,
    RATE_BURST: MANY,
    ...(surface === 'ledger-peer' && fabric !== undefined ? fabricEnv(folder, fabric) : integrating(noteKey)),
    ...(provider === undefined ? {} : operatorEnv(provider, surface)),
  };
}

const integrating = ({ signingKey }: NoteKey): Record<string, string> => ({
  LEDGER_INTEGRATOR: 'true',
  LEDGER_SIGNING_KEY: signingKey,
});

function ownEnv(
  surface: Stored,
  { folder, pair, fabric, certificates, peerKeys }: Parts & Pick<Made, 'certificates' | 'peerKeys'>,
): Record<string, string> {
  switch (surface) {
    case 'ingest-gateway':
      return { ADMIN_DATABASE_URL: urlOf(pair, surface).replace('service:service', 'operator:operator') };
    case 'case-gate':
      return { DOCUMENT_SIGNING_KEY: newDocumentKey(), GATE_RATE_PER_SECOND: MANY, GATE_RATE_BURST: MANY };
    case 'risk-partner':
      return {
        DOCUMENT_SIGNING_KEY: newDocumentKey(),
        TLS_CERT_FILE: certificates.certFile,
        TLS_KEY_FILE: certificates.keyFile,
      };
    case 'ledger-peer': {
      const callers = { API_KEY_HASHES: peerKeys.map(sha256).join() };
      if (fabric !== undefined) return callers;
      const mappingFile = join(folder, 'mapping.json');
      writeFileSync(mappingFile, JSON.stringify(mapping(PEER_CHANNEL)));
      return {
        ...callers,
        MAPPING_FILE: mappingFile,
        PUBLIC_LOG: PEER_CHANNEL,
        LOG_RATE_PER_SECOND: MANY,
        LOG_RATE_BURST: MANY,
        SUBSCRIPTION_ALLOWED_CIDRS: '127.0.0.0/8',
        NODE_EXTRA_CA_CERTS: certificates.caFile,
      };
    }
  }
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');
