import { callersByHash, liveKeyCondition, TickBatcher, type CallersByHash } from '@sealgate/api-keys';
import type { AccessToken } from '@sealgate/identity';
import { searchText, tableList } from '@sealgate/paging';
import { isUniqueViolation, mapOutages, type Sql } from '@sealgate/storage';
import type { RunAudited } from '../audited-changes.ts';
import { effectiveScope, type Credential, type OrganizationOfCaller, type RiskCaller } from '../domain/caller.ts';
import type { Identity, IdentityStore, OpenInvitation, SignedIn, SignInPorts } from '../domain/identities.ts';
import { rolesOf } from '../domain/permissions.ts';
import { insertRow } from './insert-row.ts';
import { insertPerson, takeInvitation } from './people-store.ts';

/** The columns of a caller, besides the credential. */
interface CallerColumns {
  person_id: string;
  org_id: string;
  roles: string[];
  departments: string[];
  unrestricted: boolean;
  can_read_sensitive: boolean;
}

const CALLER_COLUMNS = 'p.person_id, p.org_id, p.roles, p.departments, p.unrestricted, p.can_read_sensitive';

interface CallerRow extends CallerColumns {
  key_hash: Buffer;
  id: string;
  ends_at: Date | null;
  version: string;
}

const OF_KEYS = 'risk.api_keys k JOIN risk.people p ON p.person_id = k.owner_id AND p.removed_at IS NULL';
const VERSION = `hash_record_extended(ROW(${CALLER_COLUMNS}), 0)::text`;

/**
 * Whether a caller by key is still the one that was looked up: the key is live, and the person is a member with the same
 * rights. A column of the statement that reads for it. Appends its parameters to `values`.
 */
export function isSameCaller({ credential, version }: RiskCaller, values: unknown[], nowMs: number): string {
  const [id, now, before] = [credential.id, new Date(nowMs), version].map((value) => `$${values.push(value)}`);
  return `EXISTS (SELECT FROM ${OF_KEYS}
    WHERE k.id = ${id} AND ${liveKeyCondition('k', now!)} AND ${VERSION} = ${before})`;
}

/**
 * The caller of a live key, if the person is a member. Key, membership, roles and scope are read in one row on every
 * request, so a revocation, a removal or a role change takes effect at once on every replica.
 */
export function callersStore(options: {
  readonly sql: Sql;
  readonly now: () => number;
  readonly deadlineMs: number;
}): CallersByHash<RiskCaller> {
  return callersByHash({
    ...options,
    name: 'risk callers',
    columns: `k.id, ${CALLER_COLUMNS}, least(k.expires_at, k.overlap_until) AS ends_at, ${VERSION} AS version`,
    from: OF_KEYS,
    callerOf: (row: CallerRow) => ({ ...callerOf(row, { kind: 'key', id: row.id }), version: row.version }),
    endsAtMs: ({ ends_at: endsAt }: CallerRow) => endsAt?.getTime() ?? Number.POSITIVE_INFINITY,
  });
}

function callerOf(row: CallerColumns, credential: Credential): RiskCaller {
  const roles = rolesOf(row.roles);
  const { unrestricted, departments, can_read_sensitive: canReadSensitive } = row;
  return {
    credential,
    orgId: row.org_id,
    personId: row.person_id,
    roles,
    scope: effectiveScope(roles, { unrestricted, departments, canReadSensitive }),
  };
}

interface IdentityRow {
  identity_id: string;
  issuer: string | null;
  subject: string | null;
  email: string | null;
  created_at: Date;
  expires_at: Date | null;
}

const IDENTITY_COLUMNS = 'identity_id, issuer, subject, email, created_at, expires_at';

/** Identities and invitations in PostgreSQL. Identities of removed people are free again. */
export function identitiesStore(look: Sql, runAudited: RunAudited): IdentityStore {
  return {
    insert: ({ orgId, personId }, { id, issuer, subject, email, createdAt, expiresAt }, entry) =>
      runAudited(orgId, async (sql, record) => {
        await sql.query({ text: FREE, values: [issuer, subject, orgId, createdAt] });
        const folded = searchText([id, issuer, subject, email]);
        const values = [id, issuer, subject, email, createdAt, expiresAt, orgId, personId, folded];
        const isNew = (await sql.query({ text: INSERT, values })).length > 0;
        if (isNew) await record(entry);
        return isNew;
      }),
    list: tableList(look, {
      from: 'risk.identities l',
      columns: IDENTITY_COLUMNS,
      id: 'l.identity_id',
      orders: {
        // Ids begin with their time.
        createdAt: { by: 'l.identity_id', type: 'text' },
        email: { by: 'left(l.email, 40)', type: 'text', nullable: true },
        expiresAt: { by: 'l.expires_at', type: 'timestamptz', nullable: true },
      },
      whereOf: ({ personId }: { readonly personId: string }) => ({
        conditions: [['l.removed_at IS NULL AND l.person_id = $', personId]],
      }),
      read: identityOf,
    }),
    remove: ({ orgId, personId }, { id, at }, entry) =>
      runAudited(orgId, async (sql, record) => {
        const [row] = await sql.query<{ was_removed: boolean }>({ text: REMOVE, values: [personId, id, at] });
        if (row === undefined) return 'missing';
        if (row.was_removed) return 'before';
        await record(entry);
        return 'removed';
      }),
  };
}

/** Frees the identity of a removed person, so that another person can get it. */
const FREE = `UPDATE risk.identities i SET removed_at = $4 FROM risk.people p
   WHERE i.issuer = $1 AND i.subject = $2 AND i.org_id = $3 AND i.removed_at IS NULL
     AND p.person_id = i.person_id AND p.removed_at IS NOT NULL`;

const INSERT = `INSERT INTO risk.identities (${IDENTITY_COLUMNS}, org_id, person_id, folded)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   ON CONFLICT (issuer, subject, org_id) WHERE removed_at IS NULL DO NOTHING RETURNING 1`;

const REMOVE = `WITH found AS (
    SELECT identity_id, removed_at FROM risk.identities WHERE person_id = $1 AND identity_id = $2 FOR UPDATE),
  ended AS (
    UPDATE risk.identities SET removed_at = $3
     WHERE identity_id = (SELECT identity_id FROM found WHERE removed_at IS NULL))
  SELECT removed_at IS NOT NULL AS was_removed FROM found`;

function identityOf(row: IdentityRow): Identity {
  const { identity_id: id, issuer, subject, email, created_at: createdAt, expires_at: expiresAt } = row;
  const times = { createdAt: createdAt.toISOString(), expiresAt: expiresAt?.toISOString() ?? null };
  return { id, issuer, subject, email, ...times };
}

/** Where the identity is a person of the organisation already, invitations stay open. */
const NO_PERSON = (orgId: string) => `NOT EXISTS (
     SELECT FROM risk.identities mine JOIN risk.people me ON me.person_id = mine.person_id AND me.removed_at IS NULL
      WHERE mine.issuer = w.issuer AND mine.subject = w.subject AND mine.org_id = ${orgId} AND mine.removed_at IS NULL)`;

/** Of each identity in arrays; `place` counts them from 1. */
const FIND = `SELECT w.place::int, found.id, found.makes, found.person_id, found.org_id, found.roles, found.departments,
       found.unrestricted, found.can_read_sensitive
    FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY w (issuer, subject, email, place)
    CROSS JOIN LATERAL (
  SELECT i.identity_id AS id, NULL AS makes, ${CALLER_COLUMNS}
    FROM risk.identities i JOIN risk.people p ON p.person_id = i.person_id AND p.removed_at IS NULL
   WHERE i.removed_at IS NULL AND i.issuer = w.issuer AND i.subject = w.subject
  UNION ALL
  SELECT i.identity_id, 'identity', ${CALLER_COLUMNS}
    FROM risk.identities i JOIN risk.people p ON p.person_id = i.person_id AND p.removed_at IS NULL
   WHERE i.removed_at IS NULL AND i.issuer IS NULL AND i.email = w.email AND i.expires_at > $4 AND ${NO_PERSON('i.org_id')}
  UNION ALL
  SELECT v.invitation_id, 'person', '', v.org_id, v.roles, v.departments, v.unrestricted, v.can_read_sensitive
    FROM risk.invitations v WHERE v.email = w.email AND v.expires_at > $4 AND ${NO_PERSON('v.org_id')}) found`;

const ACCEPT = `UPDATE risk.identities SET issuer = $2, subject = $3, expires_at = NULL, folded = folded || ' ' || $5
   WHERE identity_id = $1 AND issuer IS NULL AND removed_at IS NULL AND expires_at > $4 RETURNING person_id`;

interface AcceptPorts {
  readonly runAudited: RunAudited;
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
}

type SignInRow = CallerColumns & { place: number; id: string; makes: OpenInvitation['makes'] | null };

interface Identified {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
}

/**
 * Identities, people, roles and scope are read on every request: a removal or a role change takes effect at once. As
 * with keys, the requests of one turn of the event loop share a query: they come before the limits of their callers.
 */
export function signInStore(options: AcceptPorts & { readonly sql: Sql; readonly deadlineMs: number }): SignInPorts {
  const { sql, now, deadlineMs } = options;
  const detail = 'The store of people is unreachable.';
  const lookUps = new TickBatcher(async (wanted: Identified[]): Promise<SignedIn[]> => {
    const keys = wanted.map((one) => JSON.stringify([one.issuer, one.subject, one.email]));
    const distinct = new Map(keys.map((key, at) => [key, wanted[at]!]));
    const asked = [...distinct.values()];
    const of = (member: keyof Identified) => asked.map((one) => one[member]);
    const values = [of('issuer'), of('subject'), of('email'), new Date(now())];
    const rows = await sql.query<SignInRow>({ name: 'risk people by identity', text: FIND, values }, { deadlineMs });
    const found = Map.groupBy(rows, ({ place }) => place);
    const results = new Map([...distinct.keys()].map((key, at) => [key, signedIn(found.get(at + 1) ?? [])]));
    return keys.map((key) => results.get(key)!);
  });
  return {
    find: ({ issuer, subject }, verifiedEmail) =>
      mapOutages(() => lookUps.call({ issuer, subject, email: verifiedEmail ?? null }), { detail }),
    async accept(token, invitations) {
      for (const one of invitations) await mapOutages(() => accept(options, one, token), { detail });
    },
  };
}

const signedIn = (rows: readonly SignInRow[]): SignedIn => ({
  callers: rows.filter(({ makes }) => makes === null).map((row) => callerOf(row, { kind: 'token', id: row.id })),
  invitations: rows.flatMap(({ id, org_id: orgId, makes }) => (makes === null ? [] : [{ id, orgId, makes }])),
});

/** If the identity has become a person of the organisation meanwhile, that stays so and the invitation stays open. */
async function accept(
  { runAudited, now, newId }: AcceptPorts,
  { id, orgId, makes }: OpenInvitation,
  { issuer, subject }: Pick<AccessToken, 'issuer' | 'subject'>,
): Promise<void> {
  const at = new Date(now());
  const requestId = newId('req_');
  try {
    await runAudited(orgId, async (sql, record) => {
      await sql.query({ text: FREE, values: [issuer, subject, orgId, at] });
      if (makes === 'identity') {
        const values = [id, issuer, subject, at, searchText([issuer, subject])];
        const [taken] = await sql.query<{ person_id: string }>({ text: ACCEPT, values });
        if (taken === undefined) return;
        const entry = { action: 'identity.accept', resource: 'identity', resourceId: id, requestId };
        return record({ ...entry, actorId: taken.person_id });
      }
      const invitation = await takeInvitation(sql, { orgId, id, at });
      if (invitation === undefined) return;
      const { email, roles, scope } = invitation;
      const personId = newId('per_');
      const createdAt = at.toISOString();
      await insertPerson(sql, { id: personId, orgId, name: email, kind: 'human', roles, scope, createdAt });
      const identityId = newId('idn_');
      const identity = { identity_id: identityId, org_id: orgId, person_id: personId, issuer, subject, email };
      const folded = searchText([identityId, issuer, subject, email]);
      await sql.query(insertRow('identities', { ...identity, created_at: createdAt, folded }));
      const by = { actorId: personId, requestId };
      await record({ ...by, action: 'invitation.accept', resource: 'invitation', resourceId: id });
      await record({ ...by, action: 'member.create', resource: 'member', resourceId: personId });
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
  }
}

/**
 * The organisations of a caller, by name: one for a key, all in which an identity is a person for a token. Those that
 * are named besides come last.
 */
export function organizationsOf(database: Sql) {
  return async (
    { credential, orgId, personId }: RiskCaller,
    besides: readonly string[] = [],
  ): Promise<OrganizationOfCaller[]> => {
    const rows = await database.query<
      { id: string; name: string } & { [Column in keyof CallerColumns]: CallerColumns[Column] | null }
    >({
      text: `SELECT known.id, known.name, ${CALLER_COLUMNS} FROM (
             SELECT o.org_id AS id, o.name, o.org_id = ANY ($3) AS last, CASE WHEN o.org_id = $1 THEN $4 END AS person
               FROM risk.orgs o WHERE o.org_id = $1 OR o.org_id = ANY ($3)
             UNION
             SELECT o.org_id, o.name, false, i.person_id FROM risk.identities mine
               JOIN risk.identities i ON i.issuer = mine.issuer AND i.subject = mine.subject AND i.removed_at IS NULL
               JOIN risk.people p ON p.person_id = i.person_id AND p.removed_at IS NULL
               JOIN risk.orgs o ON o.org_id = i.org_id
              WHERE mine.identity_id = $2) known
             LEFT JOIN risk.people p ON p.person_id = known.person
             ORDER BY last, name, id`,
      values: [orgId, credential.kind === 'token' ? credential.id : '', besides, personId],
    });
    return rows.map(({ id, name, ...row }) => ({
      id,
      name,
      // Of a person that was found, all columns are.
      member: row.person_id === null ? null : memberOf(callerOf(row as CallerColumns, credential)),
    }));
  };
}

const memberOf = ({ personId, roles, scope }: RiskCaller): OrganizationOfCaller['member'] => ({
  personId,
  roles,
  scope,
});
