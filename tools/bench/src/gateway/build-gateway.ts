import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../usage-error.ts';
import { workspaceRoot } from '../workspace-root.ts';

const output = join(workspaceRoot, 'apps/ingest-gateway/dist');

/** What is deployed is what is measured: the bundle, not the sources. */
export const gatewayProgram = join(output, 'main.js');
export const gatewayMigrations = join(output, 'migrate.js');

const buildWithinMs = 300_000;

/** Makes the bundle as `npm start` does. Throws UsageError with what the build said when it fails. */
export async function buildGateway(build: boolean): Promise<void> {
  if (build) {
    const { code, said } = await runBuild();
    if (code !== 0) throw new UsageError(`The gateway could not be built.\n${said.trim()}`);
  }
  if (!existsSync(gatewayProgram)) throw new UsageError('The gateway is not built. Leave out --no-build.');
}

function runBuild(): Promise<{ code: number | null; said: string }> {
  const program = join(workspaceRoot, 'tools/dev/src/main.ts');
  return new Promise((done) => {
    const child = spawn(process.execPath, [program, 'bundle', 'ingest-gateway'], {
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
