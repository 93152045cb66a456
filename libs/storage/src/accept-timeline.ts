import { Client, escapeLiteral } from 'pg';
import { ACCEPTANCE_SCHEMA, acceptanceOf, describeServer, serverList } from './database-servers.ts';

/** A server as an operator sees it. */
export interface ServerReport {
  /** `host:port` */
  readonly server: string;
  /** `silent`: no answer within a second, or a refusal. */
  readonly state: 'primary' | 'read-only' | 'standby' | 'silent';
  /** System identifier. */
  readonly cluster: string | null;
  readonly timeline: number | null;
  /** The last acceptance that the server holds: when, which timeline, by whom and why. */
  readonly acceptedAt: string | null;
  readonly acceptedBy: string | null;
  /** Why it is silent. */
  readonly problem: string | null;
}

const CONNECT_WITHIN_MS = 10_000;
const STATEMENT_WITHIN_MS = 30_000;

/** Asks every server of a database URL, or of the file that it names, what it is. @throws Error for a file without one */
export function describeServers(url: string): Promise<ServerReport[]> {
  return Promise.all(serverList(url).map(reportOf));
}

async function reportOf(url: string): Promise<ServerReport> {
  const { server, role, failure = null } = await describeServer(url);
  const none = { cluster: null, timeline: null, acceptedAt: null, acceptedBy: null };
  if (role === undefined) return { server, state: 'silent', ...none, problem: failure };
  const primary = role.read_only ? 'read-only' : 'primary';
  const { since, by } = acceptanceOf(role.accepted);
  return {
    server,
    state: role.standby ? 'standby' : primary,
    cluster: role.cluster,
    timeline: role.timeline === null ? null : Number(role.timeline),
    acceptedAt: since === 0 ? null : new Date(since).toISOString(),
    acceptedBy: since === 0 ? null : by,
    problem: null,
  };
}

/**
 * Accepts the timeline of one of the servers in place of every one that was seen before: written in the database itself,
 * so that each process meets it where it connects, standbys have it, and a server without it is a former primary.
 *
 * @param server `host:port` of a primary that the URL lists.
 * @throws pg.DatabaseError, such as 42501 where the role may not create a schema or does not own it.
 */
export async function acceptTimeline(url: string, server: string, reason: string): Promise<void> {
  for (const connectionString of serverList(url)) {
    const limits = { connectionTimeoutMillis: CONNECT_WITHIN_MS, query_timeout: STATEMENT_WITHIN_MS };
    const client = new Client({ connectionString, application_name: 'sealgate accept-timeline', ...limits });
    client.on('error', () => undefined); // The running query fails with it.
    if (`${client.host}:${client.port}` !== server) continue;
    await client.connect();
    try {
      await writeAcceptance(client, reason);
    } finally {
      await client.end();
    }
    return;
  }
  throw new Error(`The URL does not list ${server}.`);
}

async function writeAcceptance(client: Client, reason: string): Promise<void> {
  await client.query('BEGIN');
  // After going back there may be no standby to wait for.
  await client.query('SET LOCAL synchronous_commit = local');
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${ACCEPTANCE_SCHEMA}`);
  const { rows } = await client.query<{ now: string; role: string; timeline: string; accepted: string | null }>(
    `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS now, session_user::text AS role,
            ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint::text AS timeline,
            obj_description('${ACCEPTANCE_SCHEMA}'::regnamespace, 'pg_namespace') AS accepted`,
  );
  const [{ now, role, timeline, accepted } = { now: '0', role: '', timeline: '', accepted: null }] = rows;
  const since = Math.max(Number(now), acceptanceOf(accepted).since + 1);
  const text = `${since} timeline ${timeline} by ${role}: ${reason}`;
  await client.query(`COMMENT ON SCHEMA ${ACCEPTANCE_SCHEMA} IS ${escapeLiteral(text)}`);
  await client.query('COMMIT');
}
