import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../bench-options.ts';
import { workspaceRoot } from '../workspace-root.ts';

export type MeasuredSurface = 'ingest-gateway' | 'ledger-peer' | 'case-gate' | 'risk-partner';

/** The deployed bundle is measured, not the sources; by default that of this checkout. */
export function programOf(
  surface: MeasuredSurface,
  name: 'main' | 'migrate' = 'main',
  checkout = workspaceRoot,
): string {
  return join(checkout, 'apps', surface, 'dist', `${name}.js`);
}

const buildWithinMs = 300_000;

/** Builds the bundles as `npm start` does. Throws UsageError with the build's output when it fails. */
export async function buildSurfaces(surfaces: readonly MeasuredSurface[], build: boolean): Promise<void> {
  if (build) {
    const { code, said } = await runBuild(surfaces);
    if (code !== 0) throw new UsageError(`${surfaces.join(', ')} could not be built.\n${said.trim()}`);
  }
  const missing = surfaces.filter((surface) => !existsSync(programOf(surface)));
  if (missing.length > 0) throw new UsageError(`${missing.join(', ')} is not built. Leave out --no-build.`);
}

function runBuild(surfaces: readonly MeasuredSurface[]): Promise<{ code: number | null; said: string }> {
  const program = join(workspaceRoot, 'tools/dev/src/main.ts');
  return new Promise((done) => {
    const child = spawn(process.execPath, [program, 'bundle', ...surfaces], {
      cwd: workspaceRoot,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: buildWithinMs,
    });
    let said = '';
    const keep = (chunk: Buffer): void => {
      said = (said + chunk.toString('utf8')).slice(-20_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => done({ code: 1, said: error.message }));
    child.on('close', (code) => done({ code, said }));
  });
}
