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
  /** Whether a server has to take writes to be used: with several of them, or where target_session_attrs asks for it. */
  readonly mustWrite: boolean;
  readonly #urls: readonly string[];
  #at = 0;

  /** @throws Error where the URL is none. */
  constructor(url: string) {
    const { urls, attributes } = serversOf(url);
    this.#urls = urls;
    this.mustWrite = urls.length > 1 || attributes === 'read-write' || attributes === 'primary';
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
