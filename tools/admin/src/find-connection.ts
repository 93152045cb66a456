import { resolve } from 'node:path';
import { findDevFile, readDevFile, type DevFile } from './dev-file.ts';
import { UsageError } from './usage-error.ts';

/** Where to ask, and with what. */
export interface Connection {
  /** Without a trailing slash. */
  readonly url: string;
  readonly token: string;
  /** Where each was taken from, for messages. */
  readonly urlSource: string;
  readonly tokenSource: string;
}

export interface ConnectionOptions {
  readonly adminUrl?: string;
  readonly token?: string;
  readonly devJson?: string;
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths are seen from here, and `.sealgate/dev.json` is looked for from here upwards. */
  readonly directory: string;
  /** The user's id; undefined where the system has none. */
  readonly uid: number | undefined;
}

interface Found {
  readonly value: string;
  readonly source: string;
}

/**
 * Settles where to ask and with which token. Each comes from its option, else from the file named with `--dev-json`,
 * else from the environment, else from the `dev.json` that is found. The token of a file that was merely found goes only
 * to the addresses of that file, so that no other host is shown it. `surfaces` are those that serve what is asked, the
 * best first. Throws UsageError.
 */
export function findConnection(
  surfaces: readonly string[],
  options: ConnectionOptions,
  surroundings: Surroundings,
): Connection {
  const { env, directory, uid } = surroundings;
  // An option that a script left empty is a mistake; what would be asked instead is not what was meant.
  if (options.adminUrl === '') throw new UsageError('--admin-url is empty.');
  if (options.token === '') throw new UsageError('--token is empty.');
  const named = options.devJson === undefined ? undefined : readDevFile(resolve(directory, options.devJson));
  const given = {
    url:
      chosen(options.adminUrl, '--admin-url') ??
      urlIn(named, surfaces) ??
      chosen(env['SEALGATE_ADMIN_URL'], 'SEALGATE_ADMIN_URL'),
    token:
      chosen(options.token, '--token') ?? tokenIn(named) ?? chosen(env['SEALGATE_ADMIN_TOKEN'], 'SEALGATE_ADMIN_TOKEN'),
  };
  // A file that is not needed is not opened, so that a broken one is in nobody's way.
  const found = given.url !== undefined && given.token !== undefined ? undefined : findDevFile(directory, uid);
  const url = given.url ?? urlIn(found, surfaces);
  if (url === undefined) {
    throw new UsageError('No admin API is known: run `npm start` in this checkout, or give --admin-url and a token.');
  }
  const checkedUrl = checkUrl(url);
  const token = given.token ?? (isOf(found, checkedUrl) ? tokenIn(found) : undefined);
  if (token === undefined) {
    throw new UsageError(`No token for ${checkedUrl} is known: set SEALGATE_ADMIN_TOKEN.`);
  }
  return { url: checkedUrl, urlSource: url.source, token: checkToken(token), tokenSource: token.source };
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
  throw new UsageError(`${file.path} names no admin API of ${surfaces.join(' or ')}: it is not running.`);
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
    throw new UsageError(`${source} holds no http or https address.`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError(`${source} may hold no user, password, query or fragment.`);
  }
  return withoutSlash(url.href);
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

/** A token that no header can carry was never one; its text is not repeated, since it may hold a secret. */
function checkToken({ value, source }: Found): string {
  if (/^[\x21-\x7e]+$/.test(value)) return value;
  throw new UsageError(`The token of ${source} holds characters that no token has.`);
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** What an operator should know before the token is sent. */
export function connectionWarnings({ url, tokenSource }: Connection): string[] {
  const { protocol, hostname, host } = new URL(url);
  return [
    ...(tokenSource === '--token'
      ? ['A token on the command line can be seen by other users of this machine: set SEALGATE_ADMIN_TOKEN instead.']
      : []),
    ...(protocol === 'http:' && !LOOPBACK.test(hostname) ? [`The token goes to ${host} unencrypted.`] : []),
  ];
}
