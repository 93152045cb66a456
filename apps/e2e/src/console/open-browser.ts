import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import chromiumPackage from '@sparticuz/chromium';
import { chromium, type Browser } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Root cannot use Chromium's sandbox; CI containers have little shared memory. No other protection is switched off. */
const ARGUMENTS = ['--no-sandbox', '--disable-dev-shm-usage'];

const HOW_TO_GET_ONE =
  'Set CHROMIUM_PATH, or put chromium, chromium-browser or google-chrome on the PATH (apt-get install chromium).';

/**
 * Starts a real Chromium: CHROMIUM_PATH, one from the PATH, or the one in the package @sparticuz/chromium. The first
 * that starts is used; otherwise the problem lists why each failed.
 */
export async function openBrowser(
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ readonly browser: Browser } | { readonly problem: string }> {
  const problems: string[] = [];
  for (const find of [() => env['CHROMIUM_PATH'], () => onPath(env), () => chromiumPackage.executablePath()]) {
    try {
      const executablePath = await find();
      if (executablePath === undefined) continue;
      return { browser: await chromium.launch({ executablePath, args: ARGUMENTS, timeout: 60_000 }) };
    } catch (error) {
      problems.push(String(error).split('\n')[0] ?? '');
    }
  }
  return { problem: [...problems, HOW_TO_GET_ONE].join(' ') };
}

function onPath(env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
