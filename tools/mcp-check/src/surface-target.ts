import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { UserError } from './user-error.ts';

/** Where surface A answers, REST and tools, and as whom it is asked. */
export interface SurfaceTarget {
  /** Of the public listener, without a slash at the end. */
  readonly url: string;
  readonly key: string;
}

export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  /** The checkout, in which `npm start` keeps its data unless it is told otherwise. */
  readonly root: string;
}

export const USAGE =
  'Usage: mcp-check inspect | conformance [--url URL] [--key KEY] [--data DIR]; the key may also be in SEALGATE_MCP_KEY.';

/**
 * Takes the address and the key from the options, else those of the viewer from the dev.json that `npm start` writes.
 * @throws UserError where the options are not as documented, or nothing runs.
 */
export function surfaceTarget(parameters: readonly string[], surroundings: Surroundings): SurfaceTarget {
  const { url, key = surroundings.env['SEALGATE_MCP_KEY'], data } = optionsOf(parameters);
  if (url === undefined) return withKey(runningTarget(dataFolder(data, surroundings)), key);
  if (key === undefined || key === '') throw new UserError(`--url needs a key. ${USAGE}`);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw new UserError(`${url} is no http(s) URL.`);
  return { url: url.replace(/\/+$/, '').replace(/\/mcp$/, ''), key };
}

const withKey = (target: SurfaceTarget, key: string | undefined): SurfaceTarget =>
  key === undefined || key === '' ? target : { ...target, key };

function optionsOf(parameters: readonly string[]): { url?: string; key?: string; data?: string } {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({ args: [...parameters], options: { url: text, key: text, data: text } }).values;
  } catch (error) {
    throw new UserError(`${String(Object(error).message)} ${USAGE}`, { cause: error });
  }
}

/** A folder is meant as it was typed: npm runs scripts in the checkout and says where it was called. */
function dataFolder(data: string | undefined, { env, root }: Surroundings): string {
  return data === undefined ? join(root, '.sealgate') : resolve(env['INIT_CWD'] ?? root, data);
}

function runningTarget(folder: string): SurfaceTarget {
  const file = join(folder, 'dev.json');
  const dev = existsSync(file) ? readJson(file) : undefined;
  const url = memberOf(dev, ['surfaces', 'risk-partner', 'url']);
  const key = memberOf(dev, ['demo', 'keys', 'viewer']);
  if (url !== undefined && key !== undefined) return { url, key };
  throw new UserError(
    `risk-partner does not run on ${folder}: \`npm start -- --surfaces risk-partner\` first, or name --url and --key.`,
  );
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UserError(`${file} cannot be read as JSON.`, { cause: error });
  }
}

function memberOf(value: unknown, names: readonly string[]): string | undefined {
  let found = value;
  for (const name of names) found = typeof found === 'object' && found !== null ? Object(found)[name] : undefined;
  return typeof found === 'string' && found !== '' ? found : undefined;
}
