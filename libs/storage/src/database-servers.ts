import { readFileSync } from 'node:fs';

/** What a server says of itself on a new connection. */
export interface ServerRole {
  readonly standby: boolean;
  readonly read_only: boolean;
  /** Which cluster it is a copy of, and the name of the WAL file it writes; null where it does not say. */
  readonly cluster: string | null;
  readonly wal_file: string | null;
}

export const ROLE_TEXT = `SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS standby,
  current_setting('transaction_read_only') = 'on' AS read_only,
  (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
  CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_walfile_name(pg_current_wal_lsn()) END AS wal_file`;

/**
 * The newest timeline of each cluster that any pool of this process has met. Each promotion begins one, so a primary on an
 * older one is a primary of before, however willingly it takes writes.
 */
const newestTimelines = new Map<string, number>();

/**
 * The servers that a database URL names, as libpq writes several: `postgresql://user:password@h1:5432,h2:5433/db`. The one
 * that was found good is used until it fails; then the next is asked, in the order of the URL.
 */
export class DatabaseServers {
  /** Undefined where the URL itself was given. */
  readonly #file: URL | undefined;
  #text: string;
  #readAtMs = performance.now();
  #urls: readonly string[] = [];
  #mustWrite = false;
  #at = 0;
  /** One more each time that the file holds another URL: connections of before are not to be used for long. */
  generation = 0;

  /** A `file:` URL names a file that holds the URL. @throws Error where there is no such file, or the URL is none. */
  constructor(url: string) {
    this.#file = url.startsWith('file:') ? new URL(url) : undefined;
    this.#text = this.#file === undefined ? url : textOf(this.#file);
    this.#take(this.#text);
  }

  #take(text: string): void {
    const { urls, attributes } = serversOf(text);
    this.#urls = urls;
    this.#at = 0;
    this.#mustWrite = urls.length > 1 || attributes === 'read-write' || attributes === 'primary';
  }

  /**
   * Reads the file again, unless that was done within the last second. A file that is away or holds no URL changes nothing:
   * it may be half exchanged. Gives the generation.
   */
  refresh(): number {
    if (this.#file === undefined || performance.now() - this.#readAtMs < READ_EVERY_MS) return this.generation;
    this.#readAtMs = performance.now();
    try {
      const text = textOf(this.#file);
      if (text === this.#text) return this.generation;
      this.#take(text);
      this.#text = text;
      this.generation += 1;
    } catch {
      // What was read before is still the best there is.
    }
    return this.generation;
  }

  /** Whether a server has to take writes to be used: with several of them, or where target_session_attrs asks for it. */
  get mustWrite(): boolean {
    return this.#mustWrite;
  }

  get count(): number {
    return this.#urls.length;
  }

  /** Of the server to connect to now. */
  get url(): string {
    return this.#urls[this.#at]!;
  }

  /** That server cannot be used now; whoever finds the same of one that was left already changes nothing. */
  leave(url: string): void {
    if (url === this.url) this.#at = (this.#at + 1) % this.#urls.length;
  }

  /** Why a server must not be used although it answers; undefined where it may. */
  fault({ standby, read_only: readOnly, cluster, wal_file: walFile }: ServerRole): string | undefined {
    if (standby) return 'The server is a standby.';
    if (readOnly) return 'The server takes no writes.';
    if (cluster === null || walFile === null) return undefined;
    // The first eight digits are the timeline.
    const timeline = Number.parseInt(walFile.slice(0, 8), 16);
    const newest = newestTimelines.get(cluster) ?? timeline;
    if (timeline < newest) return 'The server is a primary of before: another one was promoted since.';
    newestTimelines.set(cluster, timeline);
    return undefined;
  }
}

/** A mounted Secret changes seldom, and a connection that is refused for its password asks at once. */
const READ_EVERY_MS = 1000;

function textOf(file: URL): string {
  const text = readFileSync(file, 'utf8').trim();
  if (!/^postgres(ql)?:\/\//i.test(text)) throw new Error(`${file.pathname} holds no URL of PostgreSQL.`);
  return text;
}

const PARTS = /^([a-z]+:\/\/)((?:[^/?#]*@)?)([^/?#]*)(.*)$/is;
const ATTRIBUTES = 'target_session_attrs';

function serversOf(text: string): { urls: string[]; attributes: string | null } {
  const [, scheme = '', user = '', hosts = '', rest = ''] = PARTS.exec(text) ?? [];
  const urls = hosts.split(',').map((host) => (hosts.includes(',') ? `${scheme}${user}${host}${rest}` : text));
  if (!rest.includes(ATTRIBUTES)) return { urls, attributes: null };
  const attributes = new URL(urls[0]!).searchParams.get(ATTRIBUTES);
  // pg would hand the parameter on to the server, which does not know it.
  const without = urls.map((url) => {
    const parsed = new URL(url);
    parsed.searchParams.delete(ATTRIBUTES);
    return parsed.href;
  });
  return { urls: without, attributes };
}
