import { relative } from 'node:path';
import { npmCommand } from './commands.ts';
import type { Example } from './surface.ts';

export interface ScreenSurface {
  readonly name: string;
  readonly url: string;
  readonly opsUrl: string;
  /** The console has none. */
  readonly adminUrl?: string;
}

export interface Screen {
  /** Undefined where it does not run. */
  readonly consoleUrl: string | undefined;
  readonly surfaces: readonly ScreenSurface[];
  /** Where people sign in; undefined where nobody does. */
  readonly signIn: string | undefined;
  /** Without its password. */
  readonly postgres: string;
  readonly redis: string | undefined;
  readonly keys: Readonly<Record<string, string>>;
  readonly adminToken: string;
  /** Of one surface: the rest lies in `examplesFile`. */
  readonly examples: readonly Example[];
  readonly examplesFile: string;
  readonly dataPath: string;
  readonly detached: boolean;
}

/** All that one wants to know once everything is ready, on one screen. */
export function renderScreen(screen: Screen): string {
  const stop = npmCommand('stop', screen.dataPath);
  const ends = screen.detached ? `It runs in the background; \`${stop}\` ends it.` : 'Ctrl-C stops it.';
  return [
    '',
    ...(screen.consoleUrl === undefined ? [] : [`Open ${screen.consoleUrl} and pick who you want to be.`, '']),
    `Sealgate is ready. ${ends}`,
    '',
    ...table(
      screen.surfaces.map(({ name, url, opsUrl, adminUrl }) => [
        ...[name, url, `ops ${opsUrl}`],
        ...(adminUrl === undefined ? [] : [`admin ${adminUrl}`]),
      ]),
    ),
    ...table([
      ...(screen.signIn === undefined ? [] : [['Sign-in', `${screen.signIn} (development only: pick who you are)`]]),
      ['PostgreSQL', screen.postgres],
      ['Redis', screen.redis ?? 'none: limits hold per process'],
    ]),
    '',
    'Keys for trying it out',
    ...table([...Object.entries(screen.keys), ['admin token', screen.adminToken]]),
    '',
    'Copy a line:',
    ...linesOf(screen.examples).map((line) => `  ${line}`),
    '',
    `More of them, for each surface: ${shortest(screen.examplesFile)}`,
    `Data, keys and logs lie in ${shortest(screen.dataPath)} (addresses and keys for scripts: dev.json).`,
    '',
  ].join('\n');
}

/** Each example under what it is for. */
export function linesOf(examples: readonly Example[]): string[] {
  return examples.flatMap(({ what, line }) => [`# ${what}`, line]);
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, text.length);
  return rows.map((row) => `  ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd());
}

/** The path as seen from here, where that is below. */
export function shortest(path: string): string {
  const seenFromHere = relative(process.cwd(), path);
  return seenFromHere === '' || seenFromHere.startsWith('..') ? path : seenFromHere;
}
