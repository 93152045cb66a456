import { readFileSync } from 'node:fs';

/** The role of a server, as queried on a new connection. */
export interface ServerRole {
  readonly standby: boolean;
  readonly read_only: boolean;
  /** System identifier of its cluster, and the name of the WAL file it writes; null if unavailable. */
  readonly cluster: string | null;
  readonly wal_file: string | null;
}

export const ROLE_TEXT = `SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS standby,
  current_setting('transaction_read_only') = 'on' AS read_only,
  (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
  CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_walfile_name(pg_current_wal_lsn()) END AS wal_file`;

/**
 * The newest timeline of each cluster that any pool of this process has seen. Each promotion starts a new one, so a
 * primary on an older timeline is a stale primary, even if it accepts writes.
 */
const newestTimelines = new Map<string, number>();

/**
 * The servers of a database URL; several as libpq writes them: `postgresql://user:password@h1:5432,h2:5433/db`. A
 * server that works is used until it fails; then the next is tried, in the order of the URL.
 */
export class DatabaseServers {
  /** Undefined unless the URL is read from a file. */
  readonly #file: URL | undefined;
  #text: string;
  #readAtMs = performance.now();
  #urls: readonly string[] = [];
  #mustWrite = false;
  #at = 0;
  /** Incremented each time the URL in the file changes: connections of an older generation are retired. */
  generation = 0;

  /** A `file:` URL names a file that holds the URL. @throws Error where the file is missing or holds no URL. */
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
   * Re-reads the file, at most once a second. A missing file or one without a URL changes nothing: it may be in the
   * middle of a replacement. Returns the generation.
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
      // Keep the previous URL.
    }
    return this.generation;
  }

  /** Whether only a server that takes writes is used: with several servers, or if target_session_attrs says so. */
  get mustWrite(): boolean {
    return this.#mustWrite;
  }

  get count(): number {
    return this.#urls.length;
  }

  /** URL of the server to connect to now. */
  get url(): string {
    return this.#urls[this.#at]!;
  }

  /** Moves on from a server that cannot be used; a no-op if it is not the current one. */
  leave(url: string): void {
    if (url === this.url) this.#at = (this.#at + 1) % this.#urls.length;
  }

  /** Why a server that answers must not be used; undefined if it may. */
  fault({ standby, read_only: readOnly, cluster, wal_file: walFile }: ServerRole): string | undefined {
    if (standby) return 'The server is a standby.';
    if (readOnly) return 'The server takes no writes.';
    if (cluster === null || walFile === null) return undefined;
    // The first eight digits are the timeline.
    const timeline = Number.parseInt(walFile.slice(0, 8), 16);
    const newest = newestTimelines.get(cluster) ?? timeline;
    if (timeline < newest) return 'The server is a stale primary: another one was promoted since.';
    newestTimelines.set(cluster, timeline);
    return undefined;
  }
}

/** A mounted Secret changes rarely, and a connection refused for its password triggers a re-read. */
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
  // pg would send the parameter to the server, which does not know it.
  const without = urls.map((url) => {
    const parsed = new URL(url);
    parsed.searchParams.delete(ATTRIBUTES);
    return parsed.href;
  });
  return { urls: without, attributes };
}
