import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A folder of plain SQL files that bring one part of a schema into being, in the order of their numbers. */
export interface MigrationSet {
  /** Unique within the schema; it names the bookkeeping table `migrations_<name>`. */
  readonly name: string;
  readonly schema: string;
  readonly directory: string;
}

/** What an operator can mend keeps a migration job from its work. The message says what, and how; nothing was changed by halves. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

const NAME = /^[a-z][a-z0-9_-]{0,40}$/;
const FILE_NAME = /^\d{4}_[a-z0-9_]+\.sql$/;

/**
 * The migrations of the lib or app whose source file is `from` (its `import.meta.url`): beside a bundle they lie in
 * `migrations/<name>`, in the sources of a lib in `../migrations`, in those of an app in `../prisma/migrations`.
 *
 * @throws Error when there is no such folder, or the name or the schema is not a plain lower-case name.
 */
export function migrationSet(options: { name: string; schema: string; from: string }): MigrationSet {
  const { name, schema } = options;
  for (const text of [name, schema]) {
    if (!NAME.test(text)) throw new Error(`"${text}" can not name a migration set or a schema.`);
  }
  const folder = dirname(fileURLToPath(options.from));
  const places = [
    join(folder, 'migrations', name),
    join(folder, '../migrations'),
    join(folder, '../prisma/migrations'),
  ];
  const directory = places.find((place) => existsSync(place));
  if (directory === undefined) {
    throw new Error(`The migrations of "${name}" are in none of ${places.join(', ')}.`);
  }
  return { name, schema, directory };
}

/** Anything but numbered SQL would be run as a program by the migration runner, so it is refused beforehand. */
export function checkFiles(set: MigrationSet): void {
  const files = readdirSync(set.directory).filter((file) => !file.startsWith('.'));
  const strange = files.filter((file) => !FILE_NAME.test(file));
  if (strange.length > 0) {
    throw new Error(`${set.directory} holds what is not called like 0001_name.sql: ${strange.join(', ')}.`);
  }
  const numbers = files.map((file) => file.slice(0, 4));
  if (new Set(numbers).size < numbers.length) throw new Error(`${set.directory} holds a number twice.`);
}

/** The last file of a set, as the bookkeeping names it: without `.sql`. */
export function newestFile(set: MigrationSet): string {
  return filesOf(set).at(-1)?.slice(0, -'.sql'.length) ?? '';
}

/** The functions that a set makes for roles to call: those whose name ends in a version. */
export function versionedFunctions(set: MigrationSet): string[] {
  const texts = filesOf(set).map((file) => readFileSync(join(set.directory, file), 'utf8'));
  const names = texts.flatMap((text) => [...text.matchAll(/^CREATE (?:OR REPLACE )?FUNCTION (\w+_v\d+)/gm)]);
  return [...new Set(names.map(([, name]) => name!))];
}

function filesOf(set: MigrationSet): string[] {
  return readdirSync(set.directory)
    .filter((file) => FILE_NAME.test(file))
    .sort();
}
