import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';

export interface CommandRun {
  readonly ok: boolean;
  readonly output: string;
  readonly errors: string;
}

export type RunCommand = (parameters: readonly string[]) => CommandRun;

/**
 * Tests that need a command which npm does not bring. Where it is not on the PATH, one skipped test says so: the project
 * may need nothing but Node, and what is deployed is checked by whoever has the commands to deploy it.
 */
export function describeWith(command: string, tests: (run: RunCommand) => void): void {
  const found = findCommand(command);
  if (found === undefined) it.skip(`what needs ${command}: it is not on the PATH`, () => undefined);
  else describe(`with ${command}`, () => tests((parameters) => runFound(found, parameters)));
}

function findCommand(name: string): string | undefined {
  const places = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
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
