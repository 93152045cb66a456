import { relative } from 'node:path';
import { npmCommand } from './data-folder.ts';
import type { Example } from './surface.ts';

interface ScreenSurface {
  readonly name: string;
  readonly url: string;
  readonly opsUrl: string;
  /** The console has none. */
  readonly adminUrl?: string;
}

export interface Screen {
  /** Undefined if it is not running. */
  readonly consoleUrl: string | undefined;
  readonly surfaces: readonly ScreenSurface[];
  /** The development provider; undefined without one. */
  readonly signIn: string | undefined;
  /** Without its password. */
  readonly postgres: string;
  readonly redis: string | undefined;
  readonly keys: Readonly<Record<string, string>>;
  /** A venue to try the door at; undefined without the case gate. */
  readonly venueId: string | undefined;
  readonly adminToken: string;
  /** Of one surface: the rest is in `examplesFile`. */
  readonly examples: readonly Example[];
  readonly examplesFile: string;
  readonly dataPath: string;
  readonly detached: boolean;
}

/** The summary printed once everything is ready. */
export function renderScreen(screen: Screen): string {
  const stop = npmCommand('stop', screen.dataPath);
  const ends = screen.detached ? `Running in the background; stop it with \`${stop}\`.` : 'Ctrl-C stops it.';
  return [
    '',
    ...(screen.consoleUrl === undefined ? [] : [`Open ${screen.consoleUrl} and choose a person to sign in as.`, '']),
    `Sealgate is ready. ${ends}`,
    '',
    ...table(
      screen.surfaces.map(({ name, url, opsUrl, adminUrl }) => [
        ...[name, url, `ops ${opsUrl}`],
        ...(adminUrl === undefined ? [] : [`admin ${adminUrl}`]),
      ]),
    ),
    ...table([
      ...(screen.signIn === undefined ? [] : [['Sign-in', `${screen.signIn} (development only, no password)`]]),
      ['PostgreSQL', screen.postgres],
      ['Redis', screen.redis ?? 'none: limits hold per process'],
    ]),
    '',
    'Demo keys',
    ...table([...Object.entries(screen.keys), ['admin token', screen.adminToken]]),
    ...doorOf(screen),
    '',
    'Example commands:',
    ...linesOf(screen.examples).map((line) => `  ${line}`),
    '',
    `More examples for each surface: ${shortest(screen.examplesFile)}`,
    `Data, keys and logs are in ${shortest(screen.dataPath)} (addresses and keys for scripts: dev.json).`,
    '',
  ].join('\n');
}

/** How to be a steward at a door: it takes a key, not a person. */
const doorOf = ({ consoleUrl, venueId, keys }: Screen): string[] =>
  consoleUrl === undefined || venueId === undefined || keys['gate'] === undefined
    ? []
    : ['', `As a steward at a door: open ${consoleUrl}/door, venue ${venueId}, with the key gate above.`];

/** Examples as shell lines, each with a comment. */
export function linesOf(examples: readonly Example[]): string[] {
  return examples.flatMap(({ what, line }) => [`# ${what}`, line]);
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, text.length);
  return rows.map((row) => `  ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd());
}

/** The path relative to the working directory if it is below it. */
export function shortest(path: string): string {
  const seenFromHere = relative(process.cwd(), path);
  return seenFromHere === '' || seenFromHere.startsWith('..') ? path : seenFromHere;
}
