import assert from 'node:assert/strict';
import type { ServerSecrets } from '@sealgate/auth';
import { auditEventHash, HEAD_HASH_DIGITS, type AuditEvent, type AuditHead, type AuditLink } from '@sealgate/envelope';
import { canonical, parseStrict, type JsonValue } from '@sealgate/json';
import type { Sql } from '@sealgate/storage';

export interface AuditChainOptions {
  /** Name of the surface: an event of one surface is none of another. */
  readonly surface: string;
  readonly schema: string;
  readonly secrets: ServerSecrets;
}

/** What an event says, before it has its place in a chain. */
type AuditContent = Omit<AuditEvent, 'link' | 'problem' | 'position'>;

/** The columns of a row, as `AUDIT_COLUMNS` selects them. */
export interface AuditRow extends Omit<AuditContent, 'at' | 'detail'> {
  /** Infinity or -Infinity for a time that is none. */
  readonly at: Date | number;
  readonly position: string;
  readonly detail: string | null;
  readonly lane: number | null;
  readonly seq: string | null;
  readonly heads: string | null;
  readonly mac: Buffer | null;
  readonly secretId: string | null;
}

/** For a table with the alias `a`. */
export const AUDIT_COLUMNS = `a.id, a.at, to_json(a.at) #>> '{}' AS position, a.actor, a.action, a.resource,
  a.resource_id AS "resourceId", a.request_id AS "requestId", a.detail, a.lane, a.seq, a.heads, a.mac,
  a.secret_id AS "secretId"`;

interface AuditChain {
  /** Appends the event to a free lane, in the transaction `sql`. Its time is never before that of the event before. */
  append(sql: Sql, content: AuditContent): Promise<void>;
  /** The event of a row, whatever is in it. Never throws. */
  read(row: AuditRow): AuditEvent;
}

const LANES = 64;
/** Clocks of replicas differ by less. */
const SKEW_MS = 60_000;
const ATTEMPTS = 3;
const FIRST_MS = 0;
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

interface Lane {
  readonly lane: number;
  readonly seq: string;
  readonly ends: readonly LaneEnd[] | null;
}

interface LaneEnd extends AuditHead {
  readonly mac: string;
  readonly secretId: string;
}

/** Ends of lanes that no event made with the active secret, $1, vouches for yet. */
export const auditSecretUse = (schema: string) => ({
  what: 'ends of the audit trail',
  text: `SELECT secret_id, count(*) AS rows, NULL AS last_at FROM ${schema}.audit_lanes
          WHERE secret_id <> $1 AND at >= coalesce((SELECT max(at) FROM ${schema}.audit_lanes WHERE secret_id = $1), '-infinity')
          GROUP BY 1`,
});

/**
 * The chains of the audit events of one surface. Every event has an HMAC, by a key that the database never sees, over
 * what it says, its number in its lane, and the hashes of the events that it followed there and in other lanes.
 * So a row that no process wrote, a changed one and a removed one can be named, up to the newest events.
 */
export function auditChain({ surface, schema, secrets }: AuditChainOptions): AuditChain {
  const hasher = secrets.derive('audit events');
  /** Whether a process of the surface wrote the end, all of it: the role of the surface may update the table. */
  const isOurs = ({ mac, secretId, ...end }: LaneEnd): boolean =>
    hasher.verify({ id: secretId, digest: Buffer.from(mac, 'hex') }, ...partsOfEnd(end));
  const append = async (sql: Sql, content: AuditContent, attempt = 1): Promise<void> => {
    const end = await freeLane(sql, schema, content.at);
    const ours = (end.ends ?? []).filter(isOurs);
    const before = ours.find(({ lane }) => lane === end.lane);
    const at = notBefore(before, content.at);
    const followed = ours.map(headOf);
    const link = { lane: end.lane, seq: Number(end.seq) + 1, heads: followed };
    const hash = auditEventHash(surface, { ...content, at }, link);
    const { id, digest } = hasher.hash(hash);
    const endMac = hasher.hash(...partsOfEnd({ lane: link.lane, seq: link.seq, at: at.toISOString(), hash })).digest;
    const { actor, action, resource, resourceId, requestId } = content;
    const detail = content.detail === null ? null : canonical(content.detail);
    const heads = canonical(followed);
    const moved = await sql.query({
      text: `WITH moved AS (
               UPDATE ${schema}.audit_lanes SET seq = $2, hash = $3, at = $4, secret_id = $5, mac = $15 WHERE lane = $1 AND seq = $2 - 1
               RETURNING 1)
             INSERT INTO ${schema}.audit_events (lane, seq, at, secret_id, heads, mac, id, actor, action, resource, resource_id,
                                       request_id, detail)
             SELECT $1, $2, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 FROM moved RETURNING 1`,
      values: [
        ...[link.lane, link.seq, Buffer.from(hash, 'hex'), at, id, heads, digest],
        ...[content.id, actor, action, resource, resourceId, requestId, detail, endMac],
      ],
    });
    if (moved.length === 1) return;
    // Another statement of this transaction took the lane between the two.
    assert(attempt < ATTEMPTS, 'The lane of an audit event did not stay where it was read.');
    return append(sql, content, attempt + 1);
  };
  return {
    append,
    read(row) {
      const { id, at: stored, position, actor, action, resource, resourceId, requestId } = row;
      const detail = jsonOf(row.detail);
      const link = linkOf(row);
      const at = shownTime(stored);
      const content = { id, at, actor, action, resource, resourceId, requestId, detail: detail ?? null };
      const problemOf = (): AuditEvent['problem'] => {
        if (at !== stored || detail === undefined || link === undefined) return 'unreadable';
        if (link === null || row.mac === null || row.secretId === null) return 'no_mac';
        if (!secrets.ids.includes(row.secretId)) return 'unknown_secret';
        const keyedHash = { id: row.secretId, digest: row.mac };
        return hasher.verify(keyedHash, auditEventHash(surface, content, link)) ? null : 'wrong_mac';
      };
      return { ...content, position, link: link ?? null, problem: wellFormed(row) ? problemOf() : 'unreadable' };
    },
  };
}

/**
 * Locks the end of a lane that no other transaction holds. Where all are held it waits for one, which is a matter of more
 * than 64 changes at once.
 */
async function freeLane(sql: Sql, schema: string, at: Date): Promise<Lane> {
  const end = `json_build_object('lane', o.lane, 'seq', o.seq, 'at', o.at, 'hash', encode(o.hash, 'hex'),
    'mac', encode(o.mac, 'hex'), 'secretId', o.secret_id)`;
  const moved = `o.lane = l.lane OR o.at >= l.at - interval '${2 * SKEW_MS} milliseconds' OR l.at IS NULL`;
  const ends = `(SELECT json_agg(${end} ORDER BY o.lane) FROM ${schema}.audit_lanes o
    WHERE isfinite(o.at) AND o.hash IS NOT NULL AND o.mac IS NOT NULL AND o.secret_id IS NOT NULL AND (${moved}))`;
  const text = `SELECT l.lane, l.seq, ${ends} AS ends FROM ${schema}.audit_lanes l`;
  const [free] = await sql.query<Lane>({ text: `${text} ORDER BY l.lane LIMIT 1 FOR UPDATE OF l SKIP LOCKED` });
  if (free !== undefined) return free;
  const values = [(at.getTime() % LANES) + 1];
  const [awaited] = await sql.query<Lane>({ text: `${text} WHERE l.lane = $1 FOR UPDATE OF l`, values });
  assert(awaited !== undefined, 'The migrations made a row for each lane of the audit trail.');
  return awaited;
}

/** What the MAC of the end of a lane covers. */
const partsOfEnd = ({ lane, seq, at, hash }: AuditHead): string[] => [
  ...['end', String(lane), String(seq), new Date(at).toISOString(), hash],
];

const headOf = ({ lane, seq, at, hash }: LaneEnd): { lane: number; seq: number; at: string; hash: string } => ({
  lane,
  seq,
  at: new Date(at).toISOString(),
  hash: hash.slice(0, HEAD_HASH_DIGITS),
});

/** The time of an event, but not before the one before it; a clock far behind is not followed. */
function notBefore(before: AuditHead | undefined, at: Date): Date {
  if (before === undefined) return at;
  const aheadMs = Date.parse(before.at) - at.getTime();
  return aheadMs > 0 && aheadMs <= SKEW_MS ? new Date(before.at) : at;
}

/** The time itself, or the nearest that RFC 3339 can say. */
function shownTime(stored: Date | number): Date {
  const ms = Number(stored);
  if (stored instanceof Date && ms >= FIRST_MS && ms <= LAST_MS) return stored;
  return new Date(ms < FIRST_MS ? FIRST_MS : LAST_MS);
}

const wellFormed = (row: AuditRow): boolean =>
  [row.id, row.actor, row.action, row.resource, row.resourceId, row.requestId ?? ''].every((text) =>
    text.isWellFormed(),
  );

/** Undefined for a text that is no JSON, or none that can be written the same way again. */
function jsonOf(text: string | null): JsonValue | undefined {
  if (text === null) return null;
  try {
    return parseStrict(Buffer.from(text));
  } catch {
    return undefined;
  }
}

/** Null for a row without one, undefined for one that is malformed. */
function linkOf({ lane, seq, heads }: AuditRow): AuditLink | null | undefined {
  if (lane === null || seq === null || heads === null) return null;
  const parsed = jsonOf(heads);
  return Array.isArray(parsed) && parsed.every(isHead) ? { lane, seq: Number(seq), heads: parsed } : undefined;
}

const isHead = (head: JsonValue): head is AuditHead & { [member: string]: JsonValue } =>
  typeof head === 'object' &&
  head !== null &&
  !Array.isArray(head) &&
  Object.keys(head).join() === 'at,hash,lane,seq' &&
  [head['at'], head['hash']].every((text) => typeof text === 'string') &&
  [head['lane'], head['seq']].every((number) => Number.isSafeInteger(number));
