import { spawn } from 'node:child_process';
import { hash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { generateNoteKey } from '@sealgate/merkle';
import type { Database } from '@sealgate/storage';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { programOf, type MeasuredSurface } from './build-gateway.ts';
import { openForBench, readSettings } from './durable-settings.ts';
import { startGateway, type Gateway } from './gateway-process.ts';

/** A database of its own with a surface's tables, and the complete configuration of its processes, over all starts. */
export interface GatewaySite {
  readonly name: string;
  readonly adminToken: string;
  /** As the superuser: only for counting what the gateway wrote. */
  readonly sql: Database;
  /** The URL of the database for its owner. */
  readonly ownerUrl: string;
  /** The durability settings, as seen by the gateway's own role. */
  readonly settings: Readonly<Record<string, string>>;
  start(): Promise<Gateway>;
}

export interface SiteOptions {
  readonly name: string;
  /** Default: the gateway. */
  readonly surface?: MeasuredSurface;
  /** The checkout whose bundle runs; default: this one. */
  readonly checkout?: string | undefined;
  /** Variables beyond those of every surface. */
  readonly env?: Readonly<Record<string, string>>;
  readonly redisUrl: string | undefined;
  readonly stack: ReleaseStack;
}

const migrateWithinMs = 120_000;

/** Creates the database, a run-time role without rights of its own, and the tables, as an installation does. */
export async function prepareSite(
  context: BenchContext,
  { name, surface = 'ingest-gateway', checkout, redisUrl, stack, env: more = {} }: SiteOptions,
): Promise<GatewaySite> {
  const database = `bench_${name}`;
  const role = `gateway_${name}`;
  const secret = (): string => randomBytes(32).toString('base64url');
  const password = secret();
  const admin = openForBench(context.postgres.url);
  await admin.query({ text: `CREATE DATABASE ${database} TEMPLATE template0` });
  await admin.query({ text: `CREATE ROLE ${role} LOGIN PASSWORD '${password}'` });
  await admin.close();
  const ownerUrl = withParts(context.postgres.url, { pathname: `/${database}` });
  const databaseUrl = withParts(ownerUrl, { username: role, password });
  await migrate(programOf(surface, 'migrate', checkout), {
    MIGRATION_DATABASE_URL: ownerUrl,
    DATABASE_URL: databaseUrl,
  });
  const settings = await readSettings(databaseUrl);
  const sql = openForBench(ownerUrl);
  stack.own(`connections to ${database}`, () => sql.close());
  const adminToken = secret();
  const nodeOptions = context.options.nodeOptions?.trim().split(/\s+/) ?? [];
  const env = {
    DATABASE_URL: databaseUrl,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    ADMIN_TOKEN_HASHES: hash('sha256', adminToken, 'hex'),
    SERVER_SECRETS: `s1:${secret()}`,
    LEDGER_DRIVER: 'embedded',
    LEDGER_ORIGIN: 'localhost/bench',
    LEDGER_INTEGRATOR: 'true',
    LEDGER_SIGNING_KEY: generateNoteKey('localhost/bench').privateKey,
    CHECKPOINT_DIR: join(context.folder, `checkpoints-${name}`),
    LOG_LEVEL: 'info',
    ...more,
  };
  const logFile = join(context.folder, `gateway-${name}.log`);
  const start = (): Promise<Gateway> =>
    startGateway({ program: programOf(surface, 'main', checkout), env, logFile, stack, nodeOptions });
  return { name, adminToken, sql, ownerUrl, settings, start };
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
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`The tables could not be made: ${said}`))));
  });
}
