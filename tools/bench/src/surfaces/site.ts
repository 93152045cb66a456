import { spawn } from 'node:child_process';
import { hash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { generateNoteKey } from '@sealgate/merkle';
import type { Database } from '@sealgate/storage';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import type { WatchedProcess } from '../proc-usage.ts';
import { programOf, type MeasuredSurface } from './build-surfaces.ts';
import { openForBench, readSettings } from './durable-settings.ts';
import { startSurface, type Surface } from './surface-process.ts';

/** A database of its own with a surface's tables, and the complete configuration of its processes, over all starts. */
export interface Site {
  /** As the superuser: only for counting what the surface wrote, and for copies of it. */
  readonly sql: Database;
  /** Of the same. It contains the password: must not be logged. */
  readonly url: string;
  /** The same as the surface's own role. */
  readonly databaseUrl: string;
  /** Verifies the checkpoints of its ledger. */
  readonly verifierKey: string;
  /** The durability settings, as seen by the surface's own role. */
  readonly settings: Readonly<Record<string, string>>;
  /** `more`: variables of this start only. */
  start(more?: Readonly<Record<string, string>>): Promise<Surface>;
  /** What a row of these processes costs: themselves, PostgreSQL, and Redis where it is used. */
  watch(...surfaces: readonly Surface[]): WatchedProcess[];
}

export interface SiteOptions {
  readonly name: string;
  /** Default: the gateway. */
  readonly surface?: MeasuredSurface;
  /** The checkout whose bundle runs; default: this one. */
  readonly checkout?: string;
  /** Variables beyond those of every surface. */
  readonly env?: Readonly<Record<string, string>>;
  /** False: without Redis, even where the run has one. */
  readonly redis?: boolean;
  readonly stack: ReleaseStack;
}

const migrateWithinMs = 120_000;
/** Limits are on, but above any load here. */
export const outOfReach = { RATE_PER_SECOND: '1000000', RATE_BURST: '1000000' };

/** Creates the database, a run-time role without rights of its own, and the tables, as an installation does. */
export async function prepareSite(
  context: BenchContext,
  { name, surface = 'ingest-gateway', checkout, redis: usesRedis = true, stack, env: more = {} }: SiteOptions,
): Promise<Site> {
  const { postgres } = context;
  const redis = usesRedis ? context.redis : undefined;
  const [database, role] = [`bench_${name}`, `surface_${name}`];
  const secret = (): string => randomBytes(32).toString('base64url');
  const password = secret();
  const admin = openForBench(postgres.url);
  await admin.query({ text: `CREATE DATABASE ${database} TEMPLATE template0` });
  await admin.query({ text: `CREATE ROLE ${role} LOGIN PASSWORD '${password}'` });
  await admin.close();
  const ownerUrl = withParts(postgres.url, { pathname: `/${database}` });
  const databaseUrl = withParts(ownerUrl, { username: role, password });
  await migrate(programOf(surface, 'migrate', checkout), {
    MIGRATION_DATABASE_URL: ownerUrl,
    DATABASE_URL: databaseUrl,
  });
  const settings = await readSettings(databaseUrl);
  const sql = openForBench(ownerUrl);
  stack.own(`connections to ${database}`, () => sql.close());
  const adminToken = secret();
  const noteKey = generateNoteKey('localhost/bench');
  const env = {
    DATABASE_URL: databaseUrl,
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
    ADMIN_TOKEN_HASHES: hash('sha256', adminToken, 'hex'),
    ADMIN_RATE_PER_SECOND: '1000000',
    ADMIN_RATE_BURST: '1000000',
    SERVER_SECRETS: `s1:${secret()}`,
    LEDGER_DRIVER: 'embedded',
    LEDGER_ORIGIN: 'localhost/bench',
    LEDGER_INTEGRATOR: 'true',
    LEDGER_SIGNING_KEY: noteKey.privateKey,
    CHECKPOINT_DIR: join(context.folder, `checkpoints-${name}`),
    LOG_LEVEL: 'info',
    ...more,
  };
  return {
    sql,
    url: ownerUrl,
    databaseUrl,
    verifierKey: noteKey.verifierKey,
    settings,
    start: (more = {}) =>
      startSurface({
        program: programOf(surface, 'main', checkout),
        env: { ...env, ...more },
        adminToken,
        stack,
        logFile: join(context.folder, `${name}.log`),
        nodeOptions: nodeOptionsOf(context, name),
      }),
    watch: (...surfaces) => [
      ...surfaces.map(({ pid }) => ({ name: 'server', pid })),
      // A section may restart its server.
      { name: 'postgres', pid: context.postgres.pid, family: true },
      ...(redis === undefined ? [] : [{ name: 'redis', pid: redis.pid }]),
    ],
  };
}

/** Of a replica that does not integrate, beside one that does: as in an installation, it has no signing key. */
export const replicaEnv = ({ verifierKey }: Pick<Site, 'verifierKey'>): Record<string, string> => ({
  LEDGER_INTEGRATOR: 'false',
  LEDGER_SIGNING_KEY: '',
  LEDGER_VERIFIER_KEYS: verifierKey,
});

/** A profile is written when the process ends, unless it is killed. */
function nodeOptionsOf({ options }: BenchContext, name: string): string[] {
  const profile = [
    '--cpu-prof',
    '--cpu-prof-interval=250',
    `--cpu-prof-dir=${join(options.dataFolder, 'profiles', name)}`,
  ];
  return [...(options.profile ? profile : []), ...(options.nodeOptions?.trim().split(/\s+/) ?? [])];
}

const withParts = (url: string, parts: { pathname?: string; username?: string; password?: string }): string =>
  Object.assign(new URL(url), parts).href;

function migrate(program: string, env: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: migrateWithinMs,
    });
    let said = '';
    const keep = (chunk: Buffer): void => void (said += chunk.toString('utf8'));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`The tables could not be made: ${said}`))));
  });
}
