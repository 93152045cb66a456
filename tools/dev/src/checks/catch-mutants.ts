import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BundleEdit } from '../../bundle.ts';
import { UserError } from '../start/user-error.ts';
import { buildSurface } from '../surfaces/bundled.ts';
import { workspaceRoot } from '../workspace.ts';

/** As apps/e2e/src/chaos/mutants has them. */
interface Mutant extends BundleEdit {
  readonly name: string;
  readonly surface: string;
  readonly defect: string;
  /** The beginning of the promise that it breaks. */
  readonly breaks: string;
}

/** A run of the site under fire with a planted defect. */
export interface MutatedRun {
  readonly minutes: number;
  /** Only the surface with the defect is run, and beside the console one that it forwards to. */
  readonly surfaces: readonly string[];
  /** The beginning of the promise that the run must find broken. */
  readonly breaks: string;
  /** For the process of the run. */
  readonly env: Readonly<Record<string, string>>;
}

/** The surface that needs another one to forward to. */
export const CONSOLE = 'console';
const BESIDE_CONSOLE = 'ingest-gateway';
const LIST = join(workspaceRoot, 'apps/e2e/src/chaos/mutants/mutants.ts');
/** Each run of one mutant is twice as long as the one before. */
const FIRST_MINUTES = 1;
const LONGEST_MINUTES = 32;

/**
 * Runs the mutant of this name, or `all`, until the judge finds the promise broken that it breaks, and prints how long the
 * run was that did. `run` resolves with whether it was found. Returns the exit code: 1 if one was not found.
 * @throws UserError for an unknown name.
 */
export async function catchMutants(wanted: string, run: (run: MutatedRun) => Promise<boolean>): Promise<number> {
  const { MUTANTS } = (await import(pathToFileURL(LIST).href)) as { MUTANTS: readonly Mutant[] };
  const mutants = MUTANTS.filter(({ name }) => wanted === 'all' || name === wanted);
  if (mutants.length === 0)
    throw new UserError(`There is no mutant ${wanted}. There are: all, ${MUTANTS.map(({ name }) => name).join(', ')}.`);
  const rows: string[] = [];
  for (const mutant of mutants) {
    const minutes = await minutesToCatch(mutant, run);
    const soon = minutes === undefined ? 'NOT CAUGHT' : `${minutes} min`;
    rows.push(`${mutant.name.padEnd(24)}${soon.padEnd(12)}${mutant.defect}`);
  }
  process.stdout.write(`${['mutant                  caught in   defect', ...rows].join('\n')}\n`);
  return rows.some((row) => row.includes('NOT CAUGHT')) ? 1 : 0;
}

async function minutesToCatch(mutant: Mutant, run: (run: MutatedRun) => Promise<boolean>): Promise<number | undefined> {
  const { surface, breaks } = mutant;
  const env = { SEALGATE_MUTATED: await buildMutant(mutant) };
  const surfaces = surface === CONSOLE ? [BESIDE_CONSOLE, surface] : [surface];
  for (let minutes = FIRST_MINUTES; minutes <= LONGEST_MINUTES; minutes *= 2)
    if (await run({ minutes, surfaces, breaks, env })) return minutes;
  return undefined;
}

/**
 * Builds the bundle with the defect into `tmp/mutants/<name>/<surface>/dist`; the sources stay as they are. Returns the
 * folder, which the harness of apps/e2e looks into first.
 */
async function buildMutant(mutant: Mutant): Promise<string> {
  const folder = join(workspaceRoot, 'tmp/mutants', mutant.name);
  await buildSurface(mutant.surface, join(folder, mutant.surface, 'dist'), { edit: mutant });
  return folder;
}
