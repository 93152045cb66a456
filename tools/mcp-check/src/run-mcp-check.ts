import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tryConformance } from './conformance/try-conformance.ts';
import { tryInspector } from './inspector/try-inspector.ts';
import { PACKAGES } from './packages.ts';
import { report, type Verdict } from './report.ts';
import { npx, requirePackage, type Npx } from './run-npx.ts';
import { surfaceTarget, USAGE, type SurfaceTarget, type Surroundings } from './surface-target.ts';
import { UserError } from './user-error.ts';

export interface McpCheckHost extends Surroundings {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** The command instead of `npx`: a stand-in of tests. */
  readonly npxCommand?: string;
}

export interface Trial {
  readonly target: SurfaceTarget;
  readonly run: Npx;
  /** Empty, and gone afterwards. */
  readonly folder: string;
}

const TRIALS = {
  inspect: { package: PACKAGES.inspector, attempt: tryInspector },
  conformance: { package: PACKAGES.conformance, attempt: tryConformance },
} satisfies Record<string, { package: string; attempt: (trial: Trial) => Promise<Verdict[]> }>;

/**
 * Tries the tools of a running surface A with a client of others, and holds what came of it against the table.
 * Gives the exit code: 0 where all is as expected, 1 where something differs, 2 where it could not be tried.
 */
export async function runMcpCheck([command, ...parameters]: readonly string[], host: McpCheckHost): Promise<number> {
  if (command !== 'inspect' && command !== 'conformance') {
    host.err(`${USAGE}\n`);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-mcp-'));
  try {
    const { package: name, attempt } = TRIALS[command];
    const target = surfaceTarget(parameters, host);
    const { env, npxCommand } = host;
    const run = npx({ package: name, folder, env, ...(npxCommand === undefined ? {} : { command: npxCommand }) });
    host.out(`${name} against ${target.url}/mcp\n\n`);
    await requirePackage(run, name);
    return report(await attempt({ target, run, folder }), host.out);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    host.err(`${error.message}\n`);
    return 2;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
