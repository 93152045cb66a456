import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
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
    const program = join(workspaceRoot, 'tools/dev/src/main.ts');
    const options = { cwd: workspaceRoot, timeout: buildWithinMs };
    try {
      await promisify(execFile)(process.execPath, [program, 'bundle', ...surfaces], options);
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new UsageError(`${surfaces.join(', ')} could not be built.\n${stdout}${stderr}`.trim(), { cause: error });
    }
  }
  const missing = surfaces.filter((surface) => !existsSync(programOf(surface)));
  if (missing.length > 0) throw new UsageError(`${missing.join(', ')} is not built. Leave out --no-build.`);
}
