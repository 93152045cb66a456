import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyProxy } from '../key-proxy.ts';
import type { Verdict } from '../report.ts';
import type { Trial } from '../run-mcp-check.ts';
import { UserError } from '../user-error.ts';
import { EXPECTATIONS, REVISIONS } from './expectations.ts';
import { judgeChecks, type Check } from './judge-checks.ts';

/**
 * Runs what each revision requires of servers, and what else the suite has for it, through a door that adds the key: the
 * suite can send none.
 * @throws UserError where the suite wrote nothing down.
 */
export async function tryConformance({ target, run, folder }: Trial): Promise<Verdict[]> {
  const door = await keyProxy(target);
  const checks: Check[] = [];
  try {
    for (const revision of REVISIONS) {
      const results = join(folder, revision);
      const asked = ['server', '--url', `${door.url}/mcp`, '--requirements', revision, '--output-dir', results];
      // Its own exit code counts what fails, expected or not.
      const { out, err } = await run(asked);
      if (!existsSync(results)) throw new UserError(`The suite wrote nothing down: ${(err || out).trim().slice(-500)}`);
      checks.push(...checksIn(results, revision));
    }
  } finally {
    await door.close();
  }
  return judgeChecks(checks, EXPECTATIONS);
}

const FOLDER = /^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/;

/** The suite keeps a folder for each scenario, named by it and by the time. */
export function checksIn(results: string, revision: string): Check[] {
  return readdirSync(results).flatMap((name) => {
    const [, scenario] = FOLDER.exec(name) ?? [];
    if (scenario === undefined) return [];
    const file = join(results, name, 'checks.json');
    if (!existsSync(file)) return [];
    const checks = JSON.parse(readFileSync(file, 'utf8')) as Omit<Check, 'revision' | 'scenario'>[];
    return checks.map((check) => ({ ...check, revision, scenario }));
  });
}
