import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A folder of numbered SQL files that create one part of a schema. */
export interface MigrationSet {
  /** Unique within the schema; it names the bookkeeping table `migrations_<name>`. */
  readonly name: string;
  readonly schema: string;
  readonly directory: string;
  /**
   * Of a set that was numbered anew for 1.0.0: what identifies a database of a release candidate, which nothing upgrades.
   * `file` is in its bookkeeping table; `routine` is in its schema, where every role sees it.
   */
  readonly releaseCandidate?: { readonly file: string; readonly routine: string };
}

/** What job and services say of such a database. */
export const MADE_BY_RELEASE_CANDIDATE =
  'the database was made by a release candidate, and nothing upgrades it: export what must stay with that version, and start with an empty database';

/**
 * A migration job failed for a reason that an operator can fix; the message says what to do. Nothing was half applied.
 */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

const NAME = /^[a-z][a-z0-9_-]{0,40}$/;
const FILE_NAME = /^\d{4}_[a-z0-9_]+\.sql$/;

/**
 * The migrations of the lib or app whose source file is `from` (its `import.meta.url`): next to a bundle in
 * `migrations/<name>`, in the sources of a lib in `../migrations`, in those of an app in `../prisma/migrations`.
 *
 * @throws Error when there is no such folder, or the name or the schema is not a plain lower-case name.
 */
export function migrationSet(options: Omit<MigrationSet, 'directory'> & { readonly from: string }): MigrationSet {
  const { from, ...set } = options;
  const { name, schema } = set;
  for (const text of [name, schema]) {
    if (!NAME.test(text)) throw new Error(`"${text}" is not a valid name of a migration set or a schema.`);
  }
  const folder = dirname(fileURLToPath(from));
  const candidates = [
    join(folder, 'migrations', name),
    join(folder, '../migrations'),
    join(folder, '../prisma/migrations'),
  ];
  const directory = candidates.find((path) => existsSync(path));
  if (directory === undefined) {
    throw new Error(`The migrations of "${name}" are in none of ${candidates.join(', ')}.`);
  }
  return { ...set, directory };
}

/** The migration runner would execute any other file as a program, so only numbered SQL is accepted. */
export function checkFiles(set: MigrationSet): void {
  const files = readdirSync(set.directory).filter((file) => !file.startsWith('.'));
  const invalid = files.filter((file) => !FILE_NAME.test(file));
  if (invalid.length > 0) {
    throw new Error(`${set.directory} holds files that are not named like 0001_name.sql: ${invalid.join(', ')}.`);
  }
  const numbers = files.map((file) => file.slice(0, 4));
  if (new Set(numbers).size < numbers.length) throw new Error(`${set.directory} holds two files with the same number.`);
}

/** The last file of a set, as the bookkeeping names it: without `.sql`. */
export function newestFile(set: MigrationSet): string {
  return filesOf(set).at(-1)?.slice(0, -'.sql'.length) ?? '';
}

/** Up to the body of a function, or the names in a DROP FUNCTION. */
const FUNCTION_STATEMENT =
  /^(?:CREATE (?:OR REPLACE )?FUNCTION (?<made>\w+)(?<head>[^]*?)(?:\bAS\s|\bRETURN\b|\bBEGIN ATOMIC\b)|DROP FUNCTION (?:IF EXISTS )?(?<dropped>[^;]+);)/gm;

/** The functions that roles may call once all files of a set have run: the SECURITY DEFINER ones. */
export function callableFunctions(set: MigrationSet): string[] {
  const names = new Set<string>();
  for (const file of filesOf(set)) {
    const [up = ''] = readFileSync(join(set.directory, file), 'utf8').split(/^-- Down Migration$/m);
    for (const { groups = {} } of up.matchAll(FUNCTION_STATEMENT)) {
      const { made, head, dropped } = groups;
      if (made !== undefined && head?.includes('SECURITY DEFINER') === true) names.add(made);
      for (const name of dropped?.replaceAll(/\([^)]*\)/g, '').split(',') ?? []) names.delete(name.trim());
    }
  }
  return [...names];
}

function filesOf(set: MigrationSet): string[] {
  return readdirSync(set.directory)
    .filter((file) => FILE_NAME.test(file))
    .sort();
}
