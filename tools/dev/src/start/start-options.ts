import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { defaultData } from './data-folder.ts';
import { messageOf, UserError } from './user-error.ts';

export interface StartOptions {
  /** Return once everything is ready, and leave it running. */
  readonly detach: boolean;
  /** Remove all data first. */
  readonly fresh: boolean;
  /** The data folder, absolute. */
  readonly data: string;
  readonly portBase: number;
  /** Undefined: all existing surfaces. */
  readonly surfaces: readonly string[] | undefined;
  /** False: run without Redis even if it is available. */
  readonly redis: boolean;
}

const usage = `Usage: npm start -- [options]

  --detach          run in the background; return once everything is ready
  --fresh           remove all data first
  --data DIR        folder of data, keys and logs (default .sealgate)
  --port-base N     base of the ports (default 4100)
  --surfaces a,b    start only these surfaces; ports stay the same
  --no-redis        run without Redis
  --help            print this text

DATABASE_URL and REDIS_URL are used if set; otherwise PostgreSQL is started, and Redis if redis-server is installed.`;

/** Thrown for `--help`: the message is the text to print. */
export class HelpAsked extends Error {}

/** npm changes the working directory: a relative --data is resolved against the folder npm was called in. */
const folderOfCall = (env: NodeJS.ProcessEnv): string => env['INIT_CWD'] ?? process.cwd();

/** Options that npm consumed, by the variable that npm sets for each. */
const meant = {
  npm_config_detach: '--detach',
  npm_config_fresh: '--fresh',
  npm_config_data: '--data DIR',
  npm_config_port_base: '--port-base N',
  npm_config_surfaces: '--surfaces a,b',
  npm_config_redis: '--no-redis',
};

/** Without `--` npm consumes the options, and the command would run without them. */
function refuseSwallowed(env: NodeJS.ProcessEnv, command: string): void {
  const taken = Object.entries(meant).flatMap(([name, option]) => (env[name] === undefined ? [] : [option]));
  if (taken.length === 0) return;
  const options = taken.join(' ');
  throw new UserError(`npm consumed ${options}: put -- before the options, as in \`npm ${command} -- ${options}\`.`);
}

/** @throws UserError for invalid options, HelpAsked for --help. */
export function parseStartOptions(
  parameters: readonly string[],
  { surfaces: known, env }: { surfaces: readonly string[]; env: NodeJS.ProcessEnv },
): StartOptions {
  refuseSwallowed(env, 'start');
  const values = read(parameters, {
    detach: { type: 'boolean' },
    fresh: { type: 'boolean' },
    data: { type: 'string' },
    'port-base': { type: 'string' },
    surfaces: { type: 'string' },
    'no-redis': { type: 'boolean' },
    help: { type: 'boolean' },
  });
  if (values['help'] === true) throw new HelpAsked(usage);
  return {
    detach: values['detach'] === true,
    fresh: values['fresh'] === true,
    data: dataFolder(values['data'], env),
    portBase: portBase(values['port-base']),
    surfaces: chosenSurfaces(values['surfaces'], known),
    redis: values['no-redis'] !== true,
  };
}

/** The data folder for `npm stop`. */
export function parseStopOptions(parameters: readonly string[], env: NodeJS.ProcessEnv): string {
  refuseSwallowed(env, 'stop');
  const values = read(parameters, { data: { type: 'string' }, help: { type: 'boolean' } });
  if (values['help'] === true) throw new HelpAsked('Usage: npm stop [-- --data DIR]');
  return dataFolder(values['data'], env);
}

type Values = Readonly<Record<string, string | boolean | undefined>>;

function read(parameters: readonly string[], options: Record<string, { type: 'string' | 'boolean' }>): Values {
  try {
    return parseArgs({ args: [...parameters], options, allowPositionals: false, strict: true }).values;
  } catch (error) {
    const [sentence = ''] = messageOf(error).split('. ');
    throw new UserError(`${sentence.replace(/\.$/, '')}. \`npm start -- --help\` lists the options.`);
  }
}

function dataFolder(text: string | boolean | undefined, env: NodeJS.ProcessEnv): string {
  if (text === '') throw new UserError('--data needs a folder.');
  return typeof text === 'string' ? resolve(folderOfCall(env), text) : defaultData;
}

const highestPortOffset = 104;

function portBase(text: string | boolean | undefined): number {
  if (typeof text !== 'string') return 4100;
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (port < 1024 || port + highestPortOffset > 65_535) {
    throw new UserError(`--port-base must be a number from 1024 to ${65_535 - highestPortOffset}; "${text}" is not.`);
  }
  return port;
}

function chosenSurfaces(text: string | boolean | undefined, known: readonly string[]): readonly string[] | undefined {
  if (typeof text !== 'string') return undefined;
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new UserError(`Unknown surface "${unknown.join(', ')}". Surfaces: ${known.join(', ')}.`);
  }
  return names;
}
