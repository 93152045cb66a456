import { spawnSync } from 'node:child_process';
import { describe, it } from '@jest/globals';
import { findProgram, foldersOf } from '@sealgate/local-services';
import { workspaceRoot } from '../workspace.ts';

interface CommandRun {
  readonly ok: boolean;
  readonly output: string;
  readonly errors: string;
}

export type RunCommand = (parameters: readonly string[]) => CommandRun;

/** To be installed outside the checkout, with Go. */
const HOW_TO_GET_IT: Readonly<Record<string, string>> = {
  helm: 'go install helm.sh/helm/v3/cmd/helm@latest',
  promtool:
    'In a module of its own: go get github.com/prometheus/prometheus/cmd/promtool, then go build of that package.',
};

/**
 * Tests that need a command that npm does not install. If it is not on the PATH, one skipped test reports that: the
 * project needs only Node, and deployments are checked on machines with these commands.
 */
export function describeWith(command: string, tests: (run: RunCommand) => void): void {
  const found = findProgram(command, foldersOf(process.env['PATH']));
  if (found === undefined) {
    process.stderr.write(
      `SKIPPED: tests that need ${command}, which is not on the PATH. ${HOW_TO_GET_IT[command] ?? ''}\n`,
    );
    it.skip(`tests that need ${command}: it is not on the PATH`, () => undefined);
  } else describe(`with ${command}`, () => tests((parameters) => runFound(found, parameters)));
}

/** Runs it in the checkout, for at most two minutes: on a busy machine the tests of the rules take half of one. */
function runFound(command: string, parameters: readonly string[]): CommandRun {
  const { status, stdout, stderr } = spawnSync(command, parameters, {
    cwd: workspaceRoot,
    encoding: 'utf8',
    timeout: 120_000,
  });
  return { ok: status === 0, output: stdout, errors: stderr };
}
