import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { preparedPostgres, type ThrowawayPostgres } from '@sealgate/testing';

const apps = resolve(import.meta.dirname, '../../..');

/** The path of a program of a built surface. Throws when it is not built. */
export function programOf(surface: string, name: 'main' | 'migrate'): string {
  const path = join(apps, surface, 'dist', `${name}.js`);
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
  if (migratedFor !== surface) await runMigrations({ MIGRATION_DATABASE_URL: url, DATABASE_URL: url }, surface);
}

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
