import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const folder = resolve(import.meta.dirname, '../../../ingest-gateway/dist');

/** The path of a program of the built gateway. Throws when it was not built. */
export function gatewayProgram(name: 'main' | 'migrate'): string {
  const path = join(folder, `${name}.js`);
  if (existsSync(path)) return path;
  throw new Error(`The gateway is not built (${path} is missing): run \`npm run build\` first.`);
}

const migrateTimeoutMs = 60_000;

/** Runs the migration job of the gateway to its end. Rejects with what it said when it fails. */
export function runMigrations(env: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [gatewayProgram('migrate')], {
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
