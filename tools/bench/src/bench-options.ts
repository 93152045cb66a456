import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { sizeNames, type SizeName } from './size/amounts.ts';

const sectionNames = [
  'throughput',
  'spread',
  'ledger',
  'bodies',
  'peer',
  'gate',
  'reads',
  'sources',
  'size',
  'pair',
] as const;
export type SectionName = (typeof sectionNames)[number];

/** By the letters of the surfaces. */
const sizedNames = ['d', 'b', 'a'] as const;
export type SizedSurfaceName = (typeof sizedNames)[number];

export interface BenchOptions {
  readonly sections: readonly SectionName[];
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmUpMs: number;
  readonly connections: number;
  /** Of the ledger that is reopened, proved from and audited; also the number of assets listed. */
  readonly ledgerRecords: number;
  readonly proofs: number;
  /** Of the section size: how much each of these surfaces holds. */
  readonly size: SizeName;
  readonly sizedSurfaces: readonly SizedSurfaceName[];
  readonly quick: boolean;
  readonly profile: boolean;
  /** False: measure the existing bundle. */
  readonly build: boolean;
  /** A checkout with bundles of the surfaces, to compare with. */
  readonly against: string | undefined;
  /** Additional Node options for the gateway, after its usual ones, to try a setting. */
  readonly nodeOptions: string | undefined;
  readonly jsonFile: string | undefined;
  readonly markdownFile: string | undefined;
  /** Folder of the databases during the run: on the disk to be measured. */
  readonly dataFolder: string;
}

export const usage = `Usage: npm run bench -- [options]

  --quick            short rounds and a small ledger: shows that it runs, not how fast it is
  --sections a,b     any of throughput, spread, ledger, bodies, peer, gate, reads, sources, size,
                     pair (default: throughput, ledger and bodies)
  --size S|M|L       fill surfaces, and measure them beside the demo's size: S is that size again, M ten times, L a
                     thousand times as much (the section size, and without --sections only that; default M)
  --surface d,b,a    the surfaces to fill (default: one after the other)
  --against DIR      measure a built checkout beside this one (the section pair), and without --sections only that
  --profile          write a CPU profile of every process of a surface, from its start to its end
  --rounds N         rounds of each row (default 5; pair: the next even number)
  --seconds S        length of a round (default 5)
  --connections N    connections, one request in flight on each (default 64)
  --records N        records of the ledger that is reopened, proved from and audited, and items of the list
                     that is read (default 1000000)
  --node-options X   additional Node options for the gateway, to try a setting
  --json FILE        write all measurements, round by round
  --markdown FILE    write the printed report
  --data DIR         a folder on the disk to measure (default: in the checkout); its new files are removed
  --no-build         measure the existing bundle
  --help             print this text
`;

const normal = { rounds: 5, seconds: 5, warmUpMs: 5_000, records: 1_000_000, proofs: 3_000 };
const short: typeof normal = { rounds: 3, seconds: 1.5, warmUpMs: 2_500, records: 100_000, proofs: 500 };

const flags = {
  quick: { type: 'boolean' },
  sections: { type: 'string' },
  profile: { type: 'boolean' },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  connections: { type: 'string' },
  records: { type: 'string' },
  'node-options': { type: 'string' },
  json: { type: 'string' },
  markdown: { type: 'string' },
  data: { type: 'string' },
  'no-build': { type: 'boolean' },
  size: { type: 'string' },
  surface: { type: 'string' },
  against: { type: 'string' },
  help: { type: 'boolean' },
} as const;

/** Undefined for `--help`. Relative files are resolved against `folder`. Throws UsageError for invalid options. */
export function parseBenchOptions(
  parameters: readonly string[],
  { folder, dataFolder }: { folder: string; dataFolder: string },
): BenchOptions | undefined {
  const given = read(parameters);
  if (given.help === true) return undefined;
  const defaults = given.quick === true ? short : normal;
  const file = (name: string | undefined): string | undefined =>
    name === undefined ? undefined : resolve(folder, name);
  const records = numberOf(given.records, { name: '--records', fallback: defaults.records, least: 1_000 });
  if (records % 100 !== 0)
    throw new UsageError('--records must be a multiple of 100: the ledger is filled in batches.');
  return {
    sections: sectionsOf(given.sections, { pair: given.against !== undefined, size: given.size !== undefined }),
    rounds: numberOf(given.rounds, { name: '--rounds', fallback: defaults.rounds, least: 1 }),
    roundMs: 1_000 * numberOf(given.seconds, { name: '--seconds', fallback: defaults.seconds, least: 0.1 }),
    warmUpMs: defaults.warmUpMs,
    connections: numberOf(given.connections, { name: '--connections', fallback: 64, least: 1 }),
    ledgerRecords: records,
    proofs: defaults.proofs,
    size: oneOf(given.size ?? 'M', { name: '--size', known: sizeNames }),
    sizedSurfaces: (given.surface?.split(',') ?? sizedNames).map((text) =>
      oneOf(text, { name: '--surface', known: sizedNames }),
    ),
    quick: given.quick === true,
    profile: given.profile === true,
    build: given['no-build'] !== true,
    against: file(given.against),
    nodeOptions: given['node-options'],
    jsonFile: file(given.json),
    markdownFile: file(given.markdown),
    dataFolder: file(given.data) ?? dataFolder,
  };
}

function read(parameters: readonly string[]) {
  try {
    return parseArgs({ args: [...parameters], options: flags, strict: true }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** A section that an option is for is measured because of it, and without --sections alone. */
function sectionsOf(
  text: string | undefined,
  because: { readonly pair: boolean; readonly size: boolean },
): SectionName[] {
  const isAsked = (name: SectionName): boolean => (name === 'pair' || name === 'size') && because[name];
  const asked = text?.split(',') ?? (because.pair || because.size ? [] : ['throughput', 'ledger', 'bodies']);
  const unknown = asked.filter((name) => !sectionNames.some((known) => known === name));
  if (unknown.length > 0)
    throw new UsageError(`There is no section ${unknown.join(', ')}; sections are ${sectionNames.join(', ')}.`);
  if (asked.includes('pair') && !because.pair)
    throw new UsageError('The section pair needs --against DIR, a built checkout.');
  return sectionNames.filter((name) => asked.includes(name) || isAsked(name));
}

function oneOf<Name extends string>(
  text: string,
  { name, known }: { readonly name: string; readonly known: readonly Name[] },
): Name {
  const found = known.find((one) => one === text);
  if (found === undefined) throw new UsageError(`${name} is one of ${known.join(', ')}, not ${text}.`);
  return found;
}

function numberOf(
  text: string | undefined,
  { name, fallback, least }: { name: string; fallback: number; least: number },
): number {
  if (text === undefined) return fallback;
  const number = Number(text);
  const whole = Number.isInteger(number) || least < 1;
  if (!/^[0-9.]+$/.test(text) || !Number.isFinite(number) || !whole || number < least)
    throw new UsageError(`${name} must be a number of at least ${least}, not ${text}.`);
  return number;
}

/** A mistake that the user can correct: shown as one sentence, without a stack. */
export class UsageError extends Error {}
