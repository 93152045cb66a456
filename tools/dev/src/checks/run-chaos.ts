import { parseArgs } from 'node:util';
import { buildSurface } from '../surfaces/bundled.ts';
import { messageOf, UserError } from '../start/user-error.ts';
import { catchMutants, CONSOLE } from './catch-mutants.ts';
import { withFabricNetwork } from './fabric-checks.ts';
import { runJest } from './run-jest.ts';

const PEER = 'ledger-peer';
const SURFACES = ['ingest-gateway', 'case-gate', 'risk-partner', PEER, CONSOLE];
const USUAL_MINUTES = 60;
/** Starting, settling and judging, beside the minutes under fire. */
const BESIDE_MS = 1_200_000;
/** The judge remembers every answer of a run. */
const HEAP_MIB = 12_288;

const USAGE = `Usage: npm run chaos -- [options]

  Runs two replicas of every surface on a PostgreSQL with a synchronous standby, a Redis and an identity provider, under
  random load, while one thing after the other is broken and processes are killed all the time. Then judges every answer
  by the rows, and prints the seed and a table. Fails for every promise that was not kept.

  --seed N         the seed of load and faults (default: drawn); the same seed draws the same again
  --minutes M      how long things are broken (default ${USUAL_MINUTES}); 0: each fault once, as npm run test:slow does
  --faults a,b     only these faults; a wrong name lists all
  --surfaces a,b   only these of ${SURFACES.join(', ')}
  --fabric         the ledger peer writes to a real Fabric network, which is broken as well; needs Fabric's commands

  --mutant NAME    plants a defect (or "all", one after the other) and repeats, twice as long each time, until the judge
                   finds it

  The history and the report are in tmp/chaos.
`;

/** What a story is run with. */
export interface ChaosStory {
  readonly seed: number;
  readonly minutes: number;
  readonly surfaces: readonly string[];
  readonly faults?: readonly string[];
  /** The folder of the Fabric network that its ledger peers write to. */
  readonly fabric?: string;
  /** The beginning of the promise that a planted defect must break. */
  readonly breaks?: string;
}

/** `npm run chaos`: all surfaces under load while what they need fails. Returns the exit code: 2 without Fabric's commands. */
export async function runChaos(parameters: readonly string[]): Promise<number> {
  try {
    const { story, mutant, isOnFabric, help } = readOptions(parameters);
    if (help) {
      process.stdout.write(USAGE);
      return 0;
    }
    for (const surface of story.surfaces) await buildSurface(surface);
    if (!isOnFabric) return await judged(story, mutant);
    return await withFabricNetwork(({ data }) => judged({ ...story, fabric: data }, mutant));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    process.stderr.write(`${messageOf(error)}\n`);
    return 1;
  }
}

/** The exit code of the story, or of those in which the planted defects must be found. */
async function judged(story: ChaosStory, mutant: string | undefined): Promise<number> {
  if (mutant === undefined) return (await isKept(story)) ? 0 : 1;
  return catchMutants(mutant, ({ env, ...run }) => isKept({ ...story, ...run }, env));
}

/** Runs the story. Whether every promise was kept, or the one that must break was broken. */
async function isKept(story: ChaosStory, env: Readonly<Record<string, string>> = {}): Promise<boolean> {
  const { tally } = await runJest({
    project: 'slow',
    paths: ['apps/e2e/src/chaos.slow'],
    workers: 1,
    heapMiB: HEAP_MIB,
    timeoutMs: BESIDE_MS + story.minutes * 120_000,
    // The bounds of the contract, not those of a machine that is shared with other tests.
    env: { SEALGATE_CHAOS: JSON.stringify(story), SEALGATE_FULL: '1', ...env },
  });
  return tally.failed === 0 && tally.passed > 0;
}

interface ChaosOrder {
  readonly story: ChaosStory;
  readonly mutant: string | undefined;
  readonly isOnFabric: boolean;
  readonly help: boolean;
}

/** @throws UserError for what the usage does not name. */
export function readOptions(parameters: readonly string[]): ChaosOrder {
  const text = { type: 'string' } as const;
  const named = { seed: text, minutes: text, faults: text, surfaces: text, mutant: text } as const;
  const flag = { type: 'boolean' } as const;
  const options = { ...named, fabric: flag, help: flag } as const;
  const { values } = orUsage(() => parseArgs({ args: [...parameters], options }));
  const surfaces = values.surfaces?.split(',') ?? SURFACES;
  const unknown = surfaces.find((name) => !SURFACES.includes(name));
  if (unknown !== undefined) throw new UserError(`There is no surface ${unknown}.\n\n${USAGE}`);
  if (surfaces.every((name) => name === CONSOLE))
    throw new UserError(`The console needs another surface to forward to.\n\n${USAGE}`);
  if (values.fabric === true && !surfaces.includes(PEER))
    throw new UserError(`Of the surfaces only ${PEER} writes to Fabric here.\n\n${USAGE}`);
  const story = {
    seed: numberOf('seed', values.seed ?? String(Date.now() % 1_000_000)),
    minutes: numberOf('minutes', values.minutes ?? String(USUAL_MINUTES)),
    surfaces,
    ...(values.faults === undefined ? {} : { faults: values.faults.split(',') }),
  };
  return { story, mutant: values.mutant, isOnFabric: values.fabric ?? false, help: values.help ?? false };
}

function numberOf(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UserError(`--${name} must be a number.\n\n${USAGE}`);
  return Number(text);
}

function orUsage<Value>(parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    throw new UserError(`${messageOf(error)}\n\n${USAGE}`);
  }
}
