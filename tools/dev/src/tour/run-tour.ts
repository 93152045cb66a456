import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { dataFolder, type DataFolder, defaultData, npmCommand } from '../start/data-folder.ts';
import { readJsonFile } from '../start/json-file.ts';
import { shortest } from '../start/screen.ts';
import { messageOf, UserError } from '../start/user-error.ts';
import { workspaceRoot } from '../workspace.ts';
import { TOUR, type TourFacts, type TourStep } from './tour-steps.ts';

interface TourHost {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: NodeJS.ProcessEnv;
}

const terminal: TourHost = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
};

/**
 * `npm run tour`: runs the story of one case against a running `npm start`, and prints the response of each step.
 * Returns the exit code: 1 if a response is unexpected, or nothing is running.
 */
export async function runTour(parameters: readonly string[], host: TourHost = terminal): Promise<number> {
  try {
    const data = dataFolder(dataOf(parameters, host.env));
    const facts = factsOf(data);
    const folder = join(data.path, 'tour');
    mkdirSync(folder, { recursive: true });
    for (const [index, step] of TOUR.entries()) await take(step, { number: index + 1, facts, folder, host });
    verifyPack(folder, data, host);
    return 0;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    host.err(`${error.message}\n`);
    return 1;
  }
}

function dataOf(parameters: readonly string[], env: NodeJS.ProcessEnv): string {
  try {
    const { values } = parseArgs({ args: [...parameters], options: { data: { type: 'string' } } });
    return values.data === undefined ? defaultData : resolve(env['INIT_CWD'] ?? process.cwd(), values.data);
  } catch (error) {
    throw new UserError(`${messageOf(error)} Usage: npm run tour -- [--data DIR]`);
  }
}

function factsOf({ devFile, path }: DataFolder): TourFacts {
  const dev = existsSync(devFile) ? readJsonFile(devFile) : undefined;
  const at = (...names: string[]): string => {
    let value: unknown = dev;
    for (const name of names) value = typeof value === 'object' && value !== null ? Object(value)[name] : undefined;
    if (typeof value === 'string') return value;
    throw new UserError(
      `The case gate is not running in ${shortest(path)}: run \`${npmCommand('start', path)}\` first.`,
    );
  };
  return {
    url: at('surfaces', 'case-gate', 'url'),
    adminUrl: at('surfaces', 'case-gate', 'adminUrl'),
    key: at('demo', 'keys', 'gate'),
    adminToken: at('adminToken'),
    venueId: at('demo', 'venueId'),
    subjectRef: `subj_tour_${Date.now().toString(36)}`,
    caseId: '',
  };
}

interface Taking {
  readonly number: number;
  readonly facts: TourFacts;
  readonly folder: string;
  readonly host: TourHost;
}

const ANSWER_WITHIN_MS = 15_000;

async function take(step: TourStep, { number, facts, folder, host }: Taking): Promise<void> {
  const body = step.body?.(facts);
  const path = step.path(facts);
  const isAdmin = step.listener === 'admin';
  host.out(
    `\n${number}. ${step.title}\n   ${step.method} ${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}\n`,
  );
  const { status, text } = await ask(`${isAdmin ? facts.adminUrl : facts.url}${path}`, {
    method: step.method,
    headers: {
      Authorization: `Bearer ${isAdmin ? facts.adminToken : facts.key}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...step.headers?.(facts),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = Object(JSON.parse(text)) as Record<string, unknown>;
  const shown = step.shows.map((name) => `${name}: ${JSON.stringify(answer[name])}`);
  if (step.keep !== undefined) {
    writeFileSync(join(folder, step.keep), text);
    shown.push(`kept in ${shortest(join(folder, step.keep))}`);
  }
  host.out(`   ${status}  ${shown.join('  ')}\n`);
  const wrong = Object.entries(step.expects ?? {}).find(
    ([name, value]) => JSON.stringify(answer[name]) !== JSON.stringify(value),
  );
  if (status !== step.status || wrong !== undefined) {
    throw new UserError(`\nStep ${number} has an unexpected response: ${text.slice(0, 2000)}`);
  }
  step.learn?.(facts, answer);
}

async function ask(url: string, init: RequestInit): Promise<{ status: number; text: string }> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    throw new UserError(`${url} did not answer: is it still running?`, { cause: error });
  }
}

/** The last step needs no running service: two files and two pinned keys. */
function verifyPack(folder: string, { verifierKeyFile }: DataFolder, host: TourHost): void {
  const [pack, jwks] = [join(folder, 'pack.json'), join(folder, 'packs.jwks.json')];
  const words = ['pack', pack, '--jwks', jwks, '--key', verifierKeyFile];
  host.out(
    `\n${TOUR.length + 1}. Verify it offline, with only pinned keys\n   npx sealgate-verify ${words.map(shortest).join(' ')}\n`,
  );
  const program = join(workspaceRoot, 'tools/verify/bin/sealgate-verify.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], { encoding: 'utf8' });
  host.out(`${`${stdout}${stderr}`.trimEnd().replaceAll(/^/gm, '   ')}\n`);
  if (status !== 0) throw new UserError('\nThe pack could not be verified.');
  host.out('\nThe tour is complete. It can be repeated: each run uses a new subject.\n');
}
