import { searchText, sortText, tableList } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import type { RunAudited } from '../audited-changes.ts';
import type { Invitation, InvitationReads, InvitationsChange } from '../domain/invitation.ts';
import { noSuchOrg, type PeopleChange, type PeopleStore, type Person } from '../domain/manage-orgs.ts';
import { rolesOf } from '../domain/permissions.ts';
import { insertRow } from './insert-row.ts';

interface GrantRow {
  roles: string[];
  departments: string[];
  unrestricted: boolean;
  can_read_sensitive: boolean;
}

interface PersonRow extends GrantRow {
  id: string;
  org_id: string;
  name: string;
  kind: string;
  created_at: Date;
}

interface InvitationRow extends GrantRow {
  id: string;
  email: string;
  invited_by: string;
  created_at: Date;
  expires_at: Date;
}

const GRANT_COLUMNS = 'roles, departments, unrestricted, can_read_sensitive';
const PERSON_COLUMNS = `person_id AS id, org_id, name, kind, created_at, ${GRANT_COLUMNS}`;
const INVITATION_COLUMNS = `invitation_id AS id, email, invited_by, created_at, expires_at, ${GRANT_COLUMNS}`;

/** People in PostgreSQL. Removal keeps the row; a removed person is not found. */
export function peopleStore({
  sql,
  look,
  runAudited,
  now,
}: {
  readonly sql: Sql;
  /** Reads lists; `sql` reads one row by its id. */
  readonly look: Sql;
  readonly runAudited: RunAudited;
  readonly now: () => number;
}): PeopleStore {
  return {
    find: (orgId, personId) => findPerson(sql, orgId, personId),
    list: tableList(look, {
      from: 'risk.people l',
      columns: `l.person_id AS id, l.org_id, l.name, l.kind, l.created_at, ${GRANT_COLUMNS}`,
      id: 'l.person_id',
      // Ids begin with their time.
      orders: { createdAt: { by: 'l.person_id', type: 'text' }, name: { by: 'l.sorted_name', type: 'text' } },
      searched: 'risk.grams(l.folded, ARRAY[l.org_id]) @> $grams AND l.folded LIKE ALL ($patterns)',
      whereOf: ({ orgId }: { readonly orgId: string }) => ({
        conditions: [['l.removed_at IS NULL AND l.org_id = $', orgId]],
        scope: [orgId],
      }),
      read: personOf,
    }),
    change: (orgId, work) =>
      runAudited(orgId, async (transaction, record) => {
        // Locked until the end, so that two concurrent removals cannot take the last two owners.
        const text = 'SELECT 1 FROM risk.orgs WHERE org_id = $1 FOR NO KEY UPDATE';
        const held = await transaction.query({ text, values: [orgId] });
        if (held.length === 0) throw noSuchOrg();
        const invitations = invitationsChange(transaction, orgId, now());
        return work({ ...peopleChange(transaction, orgId), record, invitations });
      }),
  };
}

/** The names of these people of the organisation, without removed ones. */
export async function personNames(
  sql: Sql,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const text = `SELECT person_id AS id, name FROM risk.people
    WHERE person_id = ANY ($1::text[]) AND org_id = $2 AND removed_at IS NULL`;
  const rows = await sql.query<{ id: string; name: string }>({ text, values: [ids, orgId] });
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** The names of people of all organisations, also of removed ones. */
export async function namesOfPeople(sql: Sql, ids: readonly string[]): Promise<Record<string, string>> {
  const text = 'SELECT person_id AS id, name FROM risk.people WHERE person_id = ANY ($1::text[])';
  const rows = await sql.query<{ id: string; name: string }>({ text, values: [ids] });
  return Object.fromEntries(rows.map(({ id, name }) => [id, name]));
}

/** When these people of the organisation made their newest request; null: never. */
export async function personsSeen(
  sql: Sql,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const text = `SELECT person_id AS id, last_seen_at AS at FROM risk.people WHERE person_id = ANY ($1::text[]) AND org_id = $2`;
  const rows = await sql.query<{ id: string; at: Date | null }>({ text, values: [ids, orgId] });
  return new Map(rows.map(({ id, at }) => [id, at?.toISOString() ?? null]));
}

async function findPerson(sql: Sql, orgId: string, personId: string): Promise<Person | undefined> {
  const text = `SELECT ${PERSON_COLUMNS} FROM risk.people WHERE person_id = $1 AND org_id = $2 AND removed_at IS NULL`;
  return (await sql.query<PersonRow>({ text, values: [personId, orgId] })).map(personOf)[0];
}

function peopleChange(sql: Sql, orgId: string): Omit<PeopleChange, 'record' | 'invitations'> {
  return {
    find: (personId) => findPerson(sql, orgId, personId),
    async wasRemoved(personId) {
      const text = 'SELECT 1 FROM risk.people WHERE person_id = $1 AND org_id = $2 AND removed_at IS NOT NULL';
      return (await sql.query({ text, values: [personId, orgId] })).length > 0;
    },
    async hasOtherOwner(personId) {
      const text = `SELECT 1 FROM risk.people
        WHERE org_id = $1 AND removed_at IS NULL AND roles @> ARRAY['owner'] AND person_id <> $2 LIMIT 1`;
      return (await sql.query({ text, values: [orgId, personId] })).length > 0;
    },
    insert: (person) => insertPerson(sql, person),
    async update(personId, { roles, scope }) {
      const text = `UPDATE risk.people SET roles = coalesce($2, roles), departments = coalesce($3, departments),
          unrestricted = coalesce($4, unrestricted), can_read_sensitive = coalesce($5, can_read_sensitive)
        WHERE person_id = $1`;
      const set = [scope?.departments, scope?.unrestricted, scope?.canReadSensitive];
      await sql.query({ text, values: [personId, roles ?? null, ...set.map((value) => value ?? null)] });
    },
    async remove(personId, at) {
      const text = 'UPDATE risk.people SET removed_at = $2 WHERE person_id = $1';
      await sql.query({ text, values: [personId, at] });
    },
  };
}

/** Also for somebody who accepts an invitation. */
export async function insertPerson(sql: Sql, { id, orgId, name, kind, createdAt, ...grant }: Person): Promise<void> {
  const row = { person_id: id, org_id: orgId, name, kind, created_at: createdAt };
  const texts = { folded: searchText([id, name]), sorted_name: sortText(name) };
  await sql.query(insertRow('people', { ...row, ...texts, ...columnsOf(grant) }));
}

/** Those that wait. */
function invitationsChange(sql: Sql, orgId: string, nowMs: number): InvitationsChange {
  const at = new Date(nowMs);
  return {
    find: (id) => findInvitation(sql, { orgId, id, at }),
    async isTaken(email) {
      const text = `SELECT 1 FROM risk.invitations WHERE org_id = $1 AND email = $2 AND expires_at > $3
        UNION ALL
        SELECT 1 FROM risk.identities i JOIN risk.people p ON p.person_id = i.person_id AND p.removed_at IS NULL
         WHERE i.org_id = $1 AND i.email = $2 AND i.removed_at IS NULL AND (i.issuer IS NOT NULL OR i.expires_at > $3)
        LIMIT 1`;
      return (await sql.query({ text, values: [orgId, email, at] })).length > 0;
    },
    async count() {
      const text = 'SELECT count(*)::integer AS open FROM risk.invitations WHERE org_id = $1 AND expires_at > $2';
      return (await sql.query<{ open: number }>({ text, values: [orgId, at] }))[0]!.open; // A count has a row.
    },
    async madeBy(personId) {
      const text = `SELECT ${INVITATION_COLUMNS} FROM risk.invitations WHERE invited_by = $1 AND expires_at > $2
        ORDER BY invitation_id`;
      return (await sql.query<InvitationRow>({ text, values: [personId, at] })).map(invitationOf);
    },
    async insert({ id, email, invitedBy, createdAt, expiresAt, ...grant }) {
      // Expired rows are removed hourly; one of the same address is in the way before.
      const text = 'DELETE FROM risk.invitations WHERE org_id = $1 AND email = $2 AND expires_at <= $3';
      await sql.query({ text, values: [orgId, email, at] });
      const row = { invitation_id: id, org_id: orgId, email, invited_by: invitedBy };
      const times = { created_at: createdAt, expires_at: expiresAt };
      await sql.query(insertRow('invitations', { ...row, ...times, ...columnsOf(grant) }));
    },
    async remove(id) {
      await sql.query({ text: 'DELETE FROM risk.invitations WHERE invitation_id = $1', values: [id] });
    },
  };
}

export function invitationReads({
  sql,
  look,
  now,
}: {
  readonly sql: Sql;
  readonly look: Sql;
  readonly now: () => number;
}): InvitationReads {
  return {
    find: (orgId, id) => findInvitation(sql, { orgId, id, at: new Date(now()) }),
    async list(orgId, { limit, after }) {
      const text = `SELECT ${INVITATION_COLUMNS} FROM risk.invitations
        WHERE org_id = $1 AND expires_at > $2 AND invitation_id > $3 ORDER BY invitation_id LIMIT $4`;
      const values = [orgId, new Date(now()), after, limit];
      return (await look.query<InvitationRow>({ text, values })).map(invitationOf);
    },
  };
}

async function findInvitation(
  sql: Sql,
  { orgId, id, at }: { readonly orgId: string; readonly id: string; readonly at: Date },
): Promise<Invitation | undefined> {
  const text = `SELECT ${INVITATION_COLUMNS} FROM risk.invitations
    WHERE invitation_id = $1 AND org_id = $2 AND expires_at > $3`;
  return (await sql.query<InvitationRow>({ text, values: [id, orgId, at] })).map(invitationOf)[0];
}

/** Nobody sees them any more, and the addresses are those of strangers. */
export async function removeExpiredInvitations(sql: Sql, nowMs: number): Promise<void> {
  await sql.query({ text: 'DELETE FROM risk.invitations WHERE expires_at <= $1', values: [new Date(nowMs)] });
}

/** Removes an invitation that waits, once, and gives what it says. */
export async function takeInvitation(
  sql: Sql,
  { orgId, id, at }: { readonly orgId: string; readonly id: string; readonly at: Date },
): Promise<Invitation | undefined> {
  const text = `DELETE FROM risk.invitations WHERE invitation_id = $1 AND org_id = $2 AND expires_at > $3
    RETURNING ${INVITATION_COLUMNS}`;
  return (await sql.query<InvitationRow>({ text, values: [id, orgId, at] })).map(invitationOf)[0];
}

const columnsOf = ({ roles, scope }: Pick<Person, 'roles' | 'scope'>): GrantRow => ({
  roles,
  departments: scope.departments,
  unrestricted: scope.unrestricted,
  can_read_sensitive: scope.canReadSensitive,
});

const grantOf = (row: GrantRow): Pick<Person, 'roles' | 'scope'> => ({
  roles: rolesOf(row.roles),
  scope: {
    departments: row.departments,
    canReadSensitive: row.can_read_sensitive,
    unrestricted: row.unrestricted,
  },
});

function personOf(row: PersonRow): Person {
  const { id, org_id: orgId, name, kind, created_at: createdAt } = row;
  const known = kind === 'machine' ? 'machine' : 'human';
  return { id, orgId, name, kind: known, ...grantOf(row), createdAt: createdAt.toISOString() };
}

function invitationOf(row: InvitationRow): Invitation {
  const { id, email, invited_by: invitedBy, created_at: createdAt, expires_at: expiresAt } = row;
  const times = { createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() };
  return { id, email, ...grantOf(row), invitedBy, ...times };
}
