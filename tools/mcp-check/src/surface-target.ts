import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** An error the user can fix: its message is printed without a stack. */
export class UserError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'UserError';
  }
}

/** The risk-partner under test and the key to call it with. */
export interface SurfaceTarget {
  /** Of the public listener, without a trailing slash. */
  readonly url: string;
  readonly key: string;
}

export interface Parameters extends SurfaceTarget {
  /** Options of the official command: those after `--`. */
  readonly passedOn: readonly string[];
}

export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  /** The checkout: `npm start` writes to `.sealgate` in it by default. */
  readonly root: string;
}

export const USAGE =
  'Usage: mcp-check inspect | conformance [--url URL] [--key KEY] [--data DIR] [-- OPTION...]; the key may also be in SEALGATE_MCP_KEY.';

/**
 * Takes the address and the key from the options, else those of the viewer from the dev.json that `npm start` writes.
 * @throws UserError for unknown or incomplete options, or if no risk-partner is running.
 */
export function parseParameters(parameters: readonly string[], surroundings: Surroundings): Parameters {
  const end = parameters.includes('--') ? parameters.indexOf('--') : parameters.length;
  const passedOn = parameters.slice(end + 1);
  const { url, key = surroundings.env['SEALGATE_MCP_KEY'], data } = optionsOf(parameters.slice(0, end));
  if (url === undefined) {
    const running = runningTarget(dataFolder(data, surroundings));
    return { ...running, ...(key === undefined || key === '' ? {} : { key }), passedOn };
  }
  if (key === undefined || key === '') throw new UserError(`--url needs a key. ${USAGE}`);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw new UserError(`${url} is no http(s) URL.`);
  return { url: url.replace(/\/+$/, '').replace(/\/mcp$/, ''), key, passedOn };
}

function optionsOf(args: string[]): { url?: string; key?: string; data?: string } {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({ args, options: { url: text, key: text, data: text } }).values;
  } catch (error) {
    throw new UserError(`${String(Object(error).message)} ${USAGE}`, { cause: error });
  }
}

/** Relative to the folder that npm was called in: npm runs scripts in the checkout. */
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
    `No risk-partner is running with its data in ${folder}: run \`npm start -- --surfaces risk-partner\`, or use --url and --key.`,
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
