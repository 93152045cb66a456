import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyProxy } from '../key-proxy.ts';
import type { Verdict } from '../report.ts';
import type { Trial } from '../run-mcp-check.ts';
import { UserError } from '../user-error.ts';
import { EXPECTATIONS } from './expectations.ts';
import { judgeChecks, type Check } from './judge-checks.ts';

/**
 * Runs every scenario of the suite that is for servers, once, through a door that adds the key: the suite can send none.
 * @throws UserError where the suite wrote nothing down.
 */
export async function tryConformance({ target, run, folder }: Trial): Promise<Verdict[]> {
  const results = join(folder, 'results');
  const door = await keyProxy(target);
  try {
    // Its own exit code counts what fails, expected or not.
    const { out, err } = await run(['server', '--url', `${door.url}/mcp`, '--suite', 'all', '--output-dir', results]);
    if (!existsSync(results)) throw new UserError(`The suite wrote nothing down: ${(err || out).trim().slice(-500)}`);
  } finally {
    await door.close();
  }
  return judgeChecks(checksIn(results), EXPECTATIONS);
}

const FOLDER = /^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/;

/** The suite keeps a folder for each scenario, named by it and by the time. */
export function checksIn(results: string): Check[] {
  return readdirSync(results).flatMap((name) => {
    const [, scenario] = FOLDER.exec(name) ?? [];
    if (scenario === undefined) return [];
    const checks = JSON.parse(readFileSync(join(results, name, 'checks.json'), 'utf8')) as Omit<Check, 'scenario'>[];
    return checks.map((check) => ({ ...check, scenario }));
  });
}
