import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { errorCode, UsageError } from './errors.ts';
import { isObject, type JsonObject, parseJson } from './json-object.ts';
import { readNamed } from './read-named.ts';

/** Address and token of an admin API. */
export interface Connection {
  /** Without a trailing slash. */
  readonly url: string;
  readonly token: string;
  /** The sources of both, for messages. */
  readonly urlSource: string;
  readonly tokenSource: string;
}

export interface ConnectionOptions {
  readonly adminUrl?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly devJson?: string;
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths are resolved against it, and `.sealgate/dev.json` is searched from here upwards. */
  readonly directory: string;
  /** The user's id; undefined if the system has none. */
  readonly uid: number | undefined;
}

interface Found {
  readonly value: string;
  readonly source: string;
}

/**
 * Determines address and token. Each comes from its option, else from the file of `--dev-json`, else from the
 * environment, else from the found `dev.json`. The token of a found file is only sent to addresses in that file, never
 * to another host. `surfaces` are those that serve the request, in order of preference. @throws UsageError.
 */
export function findConnection(
  surfaces: readonly string[],
  options: ConnectionOptions,
  surroundings: Surroundings,
): Connection {
  const { env, directory, uid } = surroundings;
  checkOptions(options);
  const named = options.devJson === undefined ? undefined : readDevFile(resolve(directory, options.devJson));
  const given = {
    url:
      chosen(options.adminUrl, '--admin-url') ??
      urlIn(named, surfaces) ??
      chosen(env['SEALGATE_ADMIN_URL'], 'SEALGATE_ADMIN_URL'),
    token:
      chosen(options.token, '--token') ??
      tokenOf(options.tokenFile, directory) ??
      tokenIn(named) ??
      chosen(env['SEALGATE_ADMIN_TOKEN'], 'SEALGATE_ADMIN_TOKEN'),
  };
  // An unneeded file is not opened, so that an invalid one does no harm.
  const found = given.url !== undefined && given.token !== undefined ? undefined : findDevFile(directory, uid);
  const url = given.url ?? urlIn(found, surfaces);
  if (url === undefined) {
    throw new UsageError('No admin API is known: run `npm start` in this checkout, or set --admin-url and a token.');
  }
  const checkedUrl = checkUrl(url);
  const token = given.token ?? (isOf(found, checkedUrl) ? tokenIn(found) : undefined);
  if (token === undefined) {
    throw new UsageError(`No token for ${checkedUrl} is known: set SEALGATE_ADMIN_TOKEN.`);
  }
  return { url: checkedUrl, urlSource: url.source, token: checkToken(token), tokenSource: token.source };
}

/** An empty option of a script is a mistake; falling back would use another address. */
function checkOptions({ adminUrl, token, tokenFile }: ConnectionOptions): void {
  if (adminUrl === '') throw new UsageError('--admin-url is empty.');
  if (token === '') throw new UsageError('--token is empty.');
  if (token !== undefined && tokenFile !== undefined) {
    throw new UsageError('Give either --token or --token-file, not both.');
  }
}

function tokenOf(file: string | undefined, directory: string): Found | undefined {
  if (file === undefined) return undefined;
  const path = resolve(directory, file);
  try {
    const value = readFileSync(path, 'utf8').trim();
    if (value !== '') return { value, source: path };
  } catch (cause) {
    throw new UsageError(`--token-file: ${path} cannot be read: ${errorCode(cause) ?? String(cause)}.`, { cause });
  }
  throw new UsageError(`--token-file: ${path} is empty.`);
}

function chosen(value: string | undefined, source: string): Found | undefined {
  return value === undefined || value === '' ? undefined : { value, source };
}

function urlIn(file: DevFile | undefined, surfaces: readonly string[]): Found | undefined {
  if (file === undefined) return undefined;
  for (const surface of surfaces) {
    const url = file.adminUrls.get(surface);
    if (url !== undefined) return { value: url, source: file.path };
  }
  throw new UsageError(`${file.path} has no admin API of ${surfaces.join(' or ')}: it is not running.`);
}

function tokenIn(file: DevFile | undefined): Found | undefined {
  return chosen(file?.adminToken, file?.path ?? '');
}

function isOf(file: DevFile | undefined, url: string): boolean {
  return [...(file?.adminUrls.values() ?? [])].some((known) => withoutSlash(URL.parse(known)?.href ?? '') === url);
}

function checkUrl({ value, source }: Found): string {
  const url = URL.parse(value);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(`${source} is not an http or https address.`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError(`${source} must not contain a user, password, query or fragment.`);
  }
  return withoutSlash(url.href);
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

/** A token that cannot be in a header is invalid; it is not printed, because it may be a secret. */
function checkToken({ value, source }: Found): string {
  if (/^[\x21-\x7e]+$/.test(value)) return value;
  throw new UsageError(`The token of ${source} contains invalid characters.`);
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Warnings before the token is sent. */
export function connectionWarnings({ url, tokenSource }: Connection): string[] {
  const { protocol, hostname, host } = new URL(url);
  return [
    ...(tokenSource === '--token'
      ? [
          'A token on the command line is visible to other users of this machine: use --token-file or SEALGATE_ADMIN_TOKEN instead.',
        ]
      : []),
    ...(protocol === 'http:' && !LOOPBACK.test(hostname) ? [`The token is sent to ${host} unencrypted.`] : []),
  ];
}

/** The data of `npm start` for tools: the admin API of each surface, and their token. */
export interface DevFile {
  readonly path: string;
  readonly adminToken: string | undefined;
  /** By the name of the surface. */
  readonly adminUrls: ReadonlyMap<string, string>;
}

const FILE_MAX_BYTES = 1024 * 1024;

/** @throws UsageError if the file cannot be read or is something else. */
function readDevFile(path: string): DevFile {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > FILE_MAX_BYTES)
    throw new UsageError(`${path} is too large to be a file of \`npm start\`.`);
  const value = parseJson(readNamed(path).toString());
  if (!isObject(value)) throw new UsageError(`${path} is not a JSON object, so it is not a file of \`npm start\`.`);
  const { adminToken, surfaces } = value;
  return {
    path,
    adminToken: typeof adminToken === 'string' ? adminToken : undefined,
    adminUrls: isObject(surfaces) ? adminUrlsOf(surfaces) : new Map(),
  };
}

/**
 * Searches `.sealgate/dev.json` in the folder and those above it. A file that another user can write decides where a
 * token is sent, so it must be named explicitly: throws UsageError for such a file, and as `readDevFile`.
 */
function findDevFile(directory: string, uid: number | undefined): DevFile | undefined {
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
