import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { errorCode } from './error-code.ts';
import { isObject, parseJson, type JsonObject } from './json-object.ts';
import { UsageError } from './usage-error.ts';

/** What `npm start` left for tools: where the admin API of each surface listens, and the token they take. */
export interface DevFile {
  readonly path: string;
  readonly adminToken: string | undefined;
  /** By the name of the surface. */
  readonly adminUrls: ReadonlyMap<string, string>;
}

const FILE_MAX_BYTES = 1024 * 1024;

/** Throws UsageError when the file cannot be read or is something else. */
export function readDevFile(path: string): DevFile {
  const value = parseJson(readText(path));
  if (!isObject(value)) throw new UsageError(`${path} is not a JSON object, so it is none of \`npm start\`.`);
  const { adminToken, surfaces } = value;
  return {
    path,
    adminToken: typeof adminToken === 'string' ? adminToken : undefined,
    adminUrls: isObject(surfaces) ? adminUrlsOf(surfaces) : new Map(),
  };
}

/**
 * Looks for `.sealgate/dev.json` in the folder and those above it. One that somebody else can write decides where a
 * token goes, so it has to be named to be believed: throws UsageError for such a file, and as `readDevFile` does.
 */
export function findDevFile(directory: string, uid: number | undefined): DevFile | undefined {
  let folder = resolve(directory);
  for (;;) {
    const path = join(folder, '.sealgate', 'dev.json');
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined) {
      const isOurs = uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0);
      if (isOurs) return readDevFile(path);
      throw new UsageError(`${path} can be written by another user. If you trust it, name it with --dev-json.`);
    }
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
}

function adminUrlsOf(surfaces: JsonObject): Map<string, string> {
  const urls = new Map<string, string>();
  for (const [name, surface] of Object.entries(surfaces)) {
    const adminUrl = isObject(surface) ? surface['adminUrl'] : undefined;
    if (typeof adminUrl === 'string') urls.set(name, adminUrl);
  }
  return urls;
}

function readText(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > FILE_MAX_BYTES) throw new UsageError(`${path} is too long to be a file of \`npm start\`.`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} cannot be read (${errorCode(error) ?? String(error)}).`, { cause: error });
  }
}
