import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { executeSql, preparedPostgres, type ThrowawayPostgres } from '@sealgate/testing';

const apps = resolve(import.meta.dirname, '../../..');

/**
 * The path of a program of a built surface. Throws when it is not built. SEALGATE_MUTATED names a folder with bundles
 * that have a planted defect, which are used where they are there.
 */
export function programOf(surface: string, name: 'main' | 'migrate'): string {
  const path = join(apps, surface, 'dist', `${name}.js`);
  const mutated = join(process.env['SEALGATE_MUTATED'] ?? apps, surface, 'dist', `${name}.js`);
  if (existsSync(mutated)) return mutated;
  if (existsSync(path)) return path;
  throw new Error(`${surface} is not built (${path} is missing): run \`npm run build\` first.`);
}

export const gatewayProgram = (name: 'main' | 'migrate'): string => programOf('ingest-gateway', name);

const root = resolve(apps, '..');

/** The Node options with which the image and the chart run this program of a surface. */
export function nodeOptionsOf(program: string): readonly string[] {
  const [, entry] = /^ENTRYPOINT (.*)$/m.exec(readFileSync(join(root, 'docker/Dockerfile'), 'utf8')) ?? [];
  const surface = basename(resolve(program, '../..'));
  const values = readFileSync(join(root, `infra/helm/values/${surface}.yaml`), 'utf8');
  const [, heapMiB] = /^heapMiB: (\d+)$/m.exec(values) ?? [];
  const [, ...options] = JSON.parse(entry!) as string[];
  return heapMiB === undefined ? options : [...options, `--max-old-space-size=${heapMiB}`];
}

/** A database, and the surface whose migration job has run on it. */
export interface Database extends Pick<ThrowawayPostgres, 'url'> {
  readonly migratedFor?: string;
}

/**
 * A database of the shared server on which the migration job of the surface has run. It runs once in each process of the
 * tests: later databases are copies.
 */
export async function migratedPostgres(surface: string): Promise<ThrowawayPostgres & Database> {
  const postgres = await preparedPostgres(surface, (url) => migrate({ url }, surface));
  return { ...postgres, migratedFor: surface };
}

/** Runs the migration job of the surface, unless the database comes from `migratedPostgres`. */
export async function migrate({ url, migratedFor }: Database, surface: string): Promise<void> {
  if (migratedFor === surface) return;
  const job = { MIGRATION_DATABASE_URL: url, ...databaseVariables(url, surface) };
  if (!isRestricted(url, surface)) return runMigrations(job, surface);
  for (const role of ['service', 'operator']) await makeRole(url, role);
  return runMigrations({ ...job, ...ofService }, surface);
}

/** Tells the job that it knows the variables of the service. */
const ofService = { LEDGER_ORIGIN: 'ledger.test/sealgate', LEDGER_INTEGRATOR: 'true' };

/**
 * Whether a surface runs as in production, with roles of its own: those whose channels are known without the variables of
 * a story do, on a database of one server that its URL names itself.
 */
const isRestricted = (url: string, surface: string): boolean =>
  surface !== 'ledger-peer' && url.startsWith('postgres') && URL.canParse(url);

/** The databases of a surface, each with the role that it has in production. */
export function databaseVariables(url: string, surface: string): Readonly<Record<string, string>> {
  if (!isRestricted(url, surface)) return { DATABASE_URL: url };
  const as = (role: string) => Object.assign(new URL(url), { username: role, password: role }).href;
  return {
    DATABASE_URL: as('service'),
    ...(surface === 'ingest-gateway' ? { ADMIN_DATABASE_URL: as('operator') } : {}),
  };
}

/** Roles belong to the server: another database may have made it. */
const makeRole = (url: string, role: string): Promise<void> =>
  executeSql(
    url,
    `DO $$ BEGIN CREATE ROLE ${role} LOGIN PASSWORD '${role}'; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
  );

const migrateTimeoutMs = 60_000;

/** Runs the migration job of a surface to its end. Rejects with its output when it fails. */
export function runMigrations(
  env: Readonly<Record<string, string>>,
  surface = 'ingest-gateway',
  program = programOf(surface, 'migrate'),
): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [program], {
      env: { ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: migrateTimeoutMs,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    }
    child.on('error', fail);
    child.on('close', (code) => (code === 0 ? done() : fail(new Error(`The migrations failed (${code}): ${said}`))));
  });
}
