import { spawnSync } from 'node:child_process';
import { describe, it } from '@jest/globals';
import { findProgram, foldersOf } from '@sealgate/local-services';
import { workspaceRoot } from '../workspace.ts';

export interface CommandRun {
  readonly ok: boolean;
  readonly output: string;
  readonly errors: string;
}

export type RunCommand = (parameters: readonly string[]) => CommandRun;

/** Outside the checkout, where there is Go. */
const HOW_TO_GET_IT: Readonly<Record<string, string>> = {
  helm: 'go install helm.sh/helm/v3/cmd/helm@latest',
  promtool:
    'In a module of its own: go get github.com/prometheus/prometheus/cmd/promtool, then go build of that package.',
};

/**
 * Tests that need a command which npm does not bring. Where it is not on the PATH, one skipped test says so: the project
 * may need nothing but Node, and what is deployed is checked by whoever has the commands to deploy it.
 */
export function describeWith(command: string, tests: (run: RunCommand) => void): void {
  const found = findProgram(command, foldersOf(process.env['PATH']));
  if (found === undefined) {
    process.stderr.write(`SKIPPED: what needs ${command}, which is not on the PATH. ${HOW_TO_GET_IT[command] ?? ''}\n`);
    it.skip(`what needs ${command}: it is not on the PATH`, () => undefined);
  } else describe(`with ${command}`, () => tests((parameters) => runFound(found, parameters)));
}

/** Runs it in the checkout to its end, for half a minute at most. */
function runFound(command: string, parameters: readonly string[]): CommandRun {
  const { status, stdout, stderr } = spawnSync(command, parameters, {
    cwd: workspaceRoot,
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { ok: status === 0, output: stdout, errors: stderr };
}
