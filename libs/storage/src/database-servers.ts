import { readFileSync } from 'node:fs';
import { BoundedClient } from './bounded-client.ts';
import { ServerUnfitError } from './database-errors.ts';
import { comparePositions, timelineMemory, type TimelineMemory, type TimelinePosition } from './timeline-memory.ts';

/** The role of a server, as queried on a new connection. */
export interface ServerRole {
  readonly standby: boolean;
  readonly read_only: boolean;
  /** System identifier of its cluster; null if the server does not tell it, or no timeline. */
  readonly cluster: string | null;
  /** The oid of the database. */
  readonly database: string | null;
  /** The timeline that a primary writes, or that a standby has followed. */
  readonly timeline: string | null;
  /** Written by `sealgate database accept-timeline`: `<milliseconds since the epoch> <text>`. */
  readonly accepted: string | null;
}

/** The schema whose comment holds the last acceptance: every role may read it, and its owner alone may write it. */
export const ACCEPTANCE_SCHEMA = 'sealgate_timeline';

export const ROLE_TEXT = `SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS standby,
  current_setting('transaction_read_only') = 'on' AS read_only,
  (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
  (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database,
  CASE WHEN pg_is_in_recovery()
       THEN (SELECT greatest(timeline_id, min_recovery_end_timeline)::text FROM pg_control_checkpoint(), pg_control_recovery())
       ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint::text END AS timeline,
  (SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = '${ACCEPTANCE_SCHEMA}') AS accepted`;

/** The pools of a process share what they saw unless they are given a memory. */
const ofProcess = timelineMemory();

const ANSWER_WITHIN_MS = 1_000;
const SURVEY_WITHIN_MS = 5_000;
/** A survey that found a fault is repeated for later connections, at most this often. */
const SURVEY_EVERY_MS = 1_000;

/** A database as its server tells it: a key of the memory, and how far it has come. */
interface Known {
  readonly key: string;
  readonly position: TimelinePosition;
}

/**
 * The servers of a database URL; several as libpq writes them: `postgresql://user:password@h1:5432,h2:5433/db`. A
 * server that works is used until it fails; then the next is tried, in the order of the URL.
 */
export class DatabaseServers {
  /** Undefined unless the URL is read from a file. */
  readonly #file: URL | undefined;
  readonly #timelines: TimelineMemory;
  #text: string;
  #readAtMs = performance.now();
  #urls: readonly string[] = [];
  #mustWrite = false;
  #at = 0;
  #survey: { readonly generation: number; readonly done: Promise<void>; readonly atMs: number } | undefined;
  /** System identifiers of the primaries that the last survey found. */
  #clusters: ReadonlySet<string> = new Set();
  /** Refusals that were reported, by server. */
  readonly #refused = new Map<string, string>();
  /** Incremented each time the URL in the file changes: connections of an older generation are retired. */
  generation = 0;

  /** A `file:` URL names a file that holds the URL. @throws Error where the file is missing or holds no URL. */
  constructor(url: string, timelines: TimelineMemory = ofProcess) {
    this.#file = url.startsWith('file:') ? new URL(url) : undefined;
    this.#timelines = timelines;
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

  get timelines(): TimelineMemory {
    return this.#timelines;
  }

  /** URL of the server to connect to now. */
  get url(): string {
    return this.#urls[this.#at]!;
  }

  /** Moves on from a server that cannot be used; a no-op if it is not the current one. */
  leave(url: string): void {
    if (url === this.url) this.#at = (this.#at + 1) % this.#urls.length;
  }

  /**
   * Asks all listed servers at the same time what they are, once for each URL, so that the newest timeline is known
   * before any of them is used. Ends after a second of silence; never rejects.
   */
  surveyed(): Promise<void> {
    if (this.count < 2) return Promise.resolve();
    const { generation } = this;
    const isStale = this.#clusters.size > 1 && performance.now() - (this.#survey?.atMs ?? 0) > SURVEY_EVERY_MS;
    if (this.#survey?.generation !== generation || isStale)
      this.#survey = { generation, done: this.#askAll(), atMs: performance.now() };
    return this.#survey.done;
  }

  async #askAll(): Promise<void> {
    const answers = await Promise.all(this.#urls.map(describeServer));
    let isNew = true;
    const clusters = new Set<string>();
    for (const { role } of answers) {
      const known = role === undefined ? undefined : knownOf(role);
      if (role === undefined || known === undefined) continue;
      if (!role.standby && role.cluster !== null) clusters.add(role.cluster);
      await this.#timelines.ask(known.key);
      if (this.#timelines.newest(known.key) !== undefined) isNew = false;
    }
    for (const { role } of answers) this.#see(role);
    this.#clusters = clusters;
    if (!isNew) return;
    for (const { server, failure } of answers)
      if (failure !== undefined) this.#timelines.report({ event: 'silent', server, reason: failure });
  }

  #see(role: ServerRole | undefined): Known | undefined {
    const known = role === undefined ? undefined : knownOf(role);
    if (role === undefined || known === undefined) return undefined;
    const { key, position } = known;
    const before = this.#timelines.newest(key);
    if (position.accepted > (before?.accepted ?? 0))
      this.#timelines.report({ event: 'accepted', database: key, position, by: acceptanceOf(role.accepted).by });
    this.#timelines.see(key, position);
    return known;
  }

  /** Judges a server that answers; remembers its timeline. Returns what it is, or why it must not be used. */
  async judge(server: string, role: ServerRole): Promise<{ known?: Known | undefined; fault?: ServerUnfitError }> {
    if (role.standby) return { fault: new ServerUnfitError(`${server} is a standby`, 'standby') };
    if (role.read_only) return { fault: new ServerUnfitError(`${server} takes no writes`, 'standby') };
    const known = knownOf(role);
    if (known === undefined) return {};
    await this.#timelines.ask(known.key);
    const reason = this.#otherCluster(server, role.cluster) ?? this.#behind(server, known);
    if (reason === undefined) {
      this.#refused.delete(server);
      return { known: this.#see(role) };
    }
    if (this.#refused.get(server) !== reason) this.#timelines.report({ event: 'refused', server, reason });
    this.#refused.set(server, reason);
    return { fault: new ServerUnfitError(reason, 'stale') };
  }

  #otherCluster(server: string, cluster: string | null): string | undefined {
    if (this.#clusters.size < 2 || cluster === null) return undefined;
    const all = [...this.#clusters].sort().join(' and ');
    return `the URL of the database lists primaries of different clusters (system identifiers ${all}), of which ${server} is one: list the servers of one cluster only`;
  }

  #behind(server: string, { key, position }: Known): string | undefined {
    const newest = this.#timelines.newest(key);
    if (newest === undefined || comparePositions(position, newest) >= 0) return undefined;
    const { accepted, timeline } = newest;
    const why =
      accepted > position.accepted
        ? `another server was accepted at ${new Date(accepted).toISOString()} in its place`
        : `timeline ${timeline} was seen, so another server was promoted`;
    return `${server} is a former primary on timeline ${position.timeline} and is not used: ${why}. If this is the server to use, run \`sealgate database accept-timeline\``;
  }
}

function knownOf({ cluster, database, timeline, accepted }: ServerRole): Known | undefined {
  if (cluster === null || database === null || timeline === null) return undefined;
  const position = { accepted: acceptanceOf(accepted).since, timeline: Number(timeline) };
  return { key: `${cluster}.${database}`, position };
}

/** The last acceptance that a server holds: 0 without one. */
export function acceptanceOf(text: string | null): { readonly since: number; readonly by: string } {
  const [, since = '0', by = ''] = /^(\d{1,15}) (.*)$/s.exec(text ?? '') ?? [];
  return { since: Number(since), by: by.slice(0, 500) };
}

/** What one server says of itself, on a connection of its own. */
interface ServerAnswer {
  /** `host:port` */
  readonly server: string;
  readonly role?: ServerRole;
  /** Why there is no role. */
  readonly failure?: string;
}

/** Asks a server what it is. Ends after a second of silence; never rejects. */
export async function describeServer(url: string): Promise<ServerAnswer> {
  const choice = { url, refresh: () => 0, leave: () => undefined };
  const client = new BoundedClient(choice, {
    application_name: 'sealgate timeline',
    connectionTimeoutMillis: SURVEY_WITHIN_MS,
  });
  const { server } = client;
  try {
    await client.connected();
    client.leaseFor(ANSWER_WITHIN_MS);
    return { server, role: await roleOf(client) };
  } catch (error) {
    const { cause, message } = error as Error;
    return { server, failure: cause instanceof Error ? cause.message : message };
  } finally {
    client.endLease();
    void client.end().catch(() => undefined);
  }
}

const PLAIN_ROLE_TEXT = `SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS standby,
  current_setting('transaction_read_only') = 'on' AS read_only, NULL AS cluster, NULL AS database, NULL AS timeline,
  NULL AS accepted`;

interface Session extends ServerRole {
  readonly pid: number;
}

/** Asks the server of a connection what it is. Without `timelines`, and from services that tell none, those are null. */
export async function roleOf(client: Pick<BoundedClient, 'ask' | 'broken'>, timelines = true): Promise<Session> {
  const ask = async (text: string): Promise<Session> => (await client.ask({ text })).rows[0] as Session;
  if (!timelines) return ask(PLAIN_ROLE_TEXT);
  try {
    return await ask(ROLE_TEXT);
  } catch (error) {
    // Some managed services do not report timelines.
    if (client.broken !== undefined) throw error;
    return ask(PLAIN_ROLE_TEXT);
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

/** The servers that a URL lists, one URL each. @throws Error where a file is missing or holds no URL. */
export function serverList(url: string): readonly string[] {
  return serversOf(url.startsWith('file:') ? textOf(new URL(url)) : url).urls;
}
