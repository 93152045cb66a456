import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DevnetError, messageOf } from './devnet-error.ts';
import { highestPortOffset } from './network-plan.ts';

export const workspaceRoot = resolve(import.meta.dirname, '../../..');

export const usage = `Usage: npm run fabric:up -- [options]

  --data DIR           folder of keys, blocks and logs (default .sealgate/fabric)
  --fresh              remove an existing network first
  --port-base N        base of the ports (default 4300); fixed for the life of the network
  --batch-timeout MS   maximum time before the orderer cuts a block (default 200)
  --organizations N    2 or 3 (default 2); with 3, two of them must endorse on the channel \`both\`
  --mutual-tls         peers require a client certificate of one of the organisations
  --with-basic         also run the contract \`basic\`: assets with positional arguments, as in Fabric's samples
  --contract FILE      program to run as \`records\` instead of apps/ledger-chaincode
  --with NAME=FILE     also run this program as the contract NAME; may be repeated, at most 7 names
  --collections NAME=FILE  private collections of that contract, as for \`peer lifecycle chaincode\`
  --help               print this text

       npm run fabric:down [-- --data DIR]
       npm run fabric:status [-- --data DIR --json]

Fabric's commands (peer, orderer, configtxgen, cryptogen; 2.5) are taken from FABRIC_BIN, else from the PATH, else from
the official images if a Docker engine is running.`;

/** Thrown for `--help`: the message is the text to print. */
export class HelpAsked extends Error {}

export interface CliOptions {
  readonly data: string;
  readonly fresh: boolean;
  readonly portBase: number | undefined;
  readonly batchTimeoutMs: number | undefined;
  readonly organizations: number | undefined;
  readonly mutualTls: boolean;
  readonly withBasic: boolean;
  readonly contract: string | undefined;
  /** Programs of further contracts, by name. */
  readonly further: Readonly<Record<string, string>>;
  /** Files with definitions of private collections, by contract. */
  readonly collections: Readonly<Record<string, string>>;
  readonly json: boolean;
}

const known = {
  up: [
    'data',
    'fresh',
    'port-base',
    'batch-timeout',
    'organizations',
    'mutual-tls',
    'with-basic',
    'contract',
    'with',
    'collections',
    'help',
  ],
  down: ['data', 'help'],
  status: ['data', 'json', 'help'],
} as const;

type DevnetCommand = keyof typeof known;

export const isDevnetCommand = (name: string | undefined): name is DevnetCommand =>
  name !== undefined && Object.hasOwn(known, name);

const flags = ['fresh', 'mutual-tls', 'with-basic', 'json', 'help'];
const lists = ['with', 'collections'];

/** @throws DevnetError for invalid options, HelpAsked for --help. */
export function parseOptions(
  command: DevnetCommand,
  parameters: readonly string[],
  env: NodeJS.ProcessEnv,
): CliOptions {
  refuseSwallowed(command, env);
  const values = read(command, parameters);
  if (values['help'] === true) throw new HelpAsked(usage);
  const folder = (text: unknown): string | undefined => {
    if (text === '') throw new DevnetError('A path must not be empty.');
    // npm changes the working directory: relative paths are resolved against the folder npm was called in.
    return typeof text === 'string' ? resolve(env['INIT_CWD'] ?? process.cwd(), text) : undefined;
  };
  return {
    data: folder(values['data']) ?? resolve(workspaceRoot, '.sealgate/fabric'),
    fresh: values['fresh'] === true,
    portBase: numberOf('--port-base', values['port-base'], 1_024, 65_535 - highestPortOffset),
    batchTimeoutMs: numberOf('--batch-timeout', values['batch-timeout'], 10, 60_000),
    organizations: numberOf('--organizations', values['organizations'], 2, 3),
    mutualTls: values['mutual-tls'] === true,
    withBasic: values['with-basic'] === true,
    contract: folder(values['contract']),
    further: byName('--with', values['with'], folder),
    collections: byName('--collections', values['collections'], folder),
    json: values['json'] === true,
  };
}

/** Without `--` npm consumes the options, and the command would run without them. */
function refuseSwallowed(command: DevnetCommand, env: NodeJS.ProcessEnv): void {
  const taken = known[command].filter(
    (name) => env[`npm_config_${name.replaceAll('-', '_')}`] !== undefined && name !== 'help',
  );
  if (taken.length === 0) return;
  const options = taken.map((name) => `--${name}`).join(' ');
  throw new DevnetError(
    `npm consumed ${options}: put -- before the options, as in \`npm run fabric:${command} -- ${options}\`.`,
  );
}

function read(command: DevnetCommand, parameters: readonly string[]): Readonly<Record<string, unknown>> {
  const options = Object.fromEntries(
    known[command].map((name) => [
      name,
      { type: flags.includes(name) ? ('boolean' as const) : ('string' as const), multiple: lists.includes(name) },
    ]),
  );
  try {
    return parseArgs({ args: [...parameters], options, allowPositionals: false, strict: true }).values;
  } catch (error) {
    const [sentence = ''] = messageOf(error).split('. ');
    throw new DevnetError(`${sentence.replace(/\.$/, '')}. \`npm run fabric:${command} -- --help\` lists the options.`);
  }
}

/** Values of a repeated option, each NAME=FILE. */
function byName(
  option: string,
  values: unknown,
  path: (text: string) => string | undefined,
): Readonly<Record<string, string>> {
  const entries = (Array.isArray(values) ? values : []).map((value: unknown): [string, string] => {
    const [, name, file] = /^([^=]+)=(.*)$/s.exec(String(value)) ?? [];
    if (name === undefined || file === undefined)
      throw new DevnetError(`${option} must be NAME=FILE; "${String(value)}" is not.`);
    return [name, path(file)!];
  });
  const twice = entries.find(([name], at) => entries.findIndex(([other]) => other === name) !== at);
  if (twice !== undefined) throw new DevnetError(`${option} names ${twice[0]} twice.`);
  return Object.fromEntries(entries);
}

function numberOf(option: string, text: unknown, least: number, most: number): number | undefined {
  if (typeof text !== 'string') return undefined;
  const number = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 0;
  if (number < least || number > most)
    throw new DevnetError(`${option} must be a number from ${least} to ${most}; "${text}" is not.`);
  return number;
}
