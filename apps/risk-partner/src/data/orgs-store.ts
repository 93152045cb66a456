import type { Org, OrgStore, PeopleChange, PeopleStore, Person } from '../domain/manage-orgs.ts';
import { noSuchOrg } from '../domain/manage-orgs.ts';
import { ROLES } from '../domain/permissions.ts';
import type { Org as OrgRow, Person as PersonRow, Prisma } from '../generated/prisma/client.ts';
import { sqlOf, type OpenPrisma } from './prisma-sql.ts';
import { addOpenChange } from './revisions.ts';
import type { WriteDeed } from './write-deed.ts';

/** Organisations in PostgreSQL. */
export function orgsStore(openPrisma: OpenPrisma, write: WriteDeed): OrgStore {
  return {
    insert: async ({ id, name, createdAt }, deed) =>
      (await openPrisma()).$transaction(async (transaction) => {
        const row = await transaction.org.create({ data: { orgId: id, name, createdAt, revisedAt: createdAt } });
        const sql = sqlOf(transaction);
        await sql.query({
          text: 'INSERT INTO risk.revisions (org_id, revision, created_at) VALUES ($1, 1, $2)',
          values: [id, createdAt],
        });
        await addOpenChange({ sql, orgId: id, revision: 1 }, 'org', 0);
        await write(sql, id, deed);
        return orgOf(row);
      }),
    async find(orgId) {
      const prisma = await openPrisma();
      const row = await prisma.org.findUnique({ where: { orgId } });
      return row === null ? undefined : orgOf(row);
    },
    async list({ limit, after }) {
      // Ids begin with their time, so the oldest is the lowest.
      const prisma = await openPrisma();
      const rows = await prisma.org.findMany({
        where: { orgId: { gt: after } },
        orderBy: { orgId: 'asc' },
        take: limit,
      });
      return rows.map(orgOf);
    },
  };
}

function orgOf({ orgId, name, createdAt }: OrgRow): Org {
  return { id: orgId, name, createdAt };
}

/** People in PostgreSQL. Who was removed keeps the row, and is not found. */
export function peopleStore(openPrisma: OpenPrisma, write: WriteDeed): PeopleStore {
  return {
    async find(orgId, personId) {
      const prisma = await openPrisma();
      const row = await prisma.person.findUnique({ where: { personId, orgId, removedAt: null } });
      return row === null ? undefined : personOf(row);
    },
    async list(orgId, { limit, after }) {
      const where = { orgId, removedAt: null, personId: { gt: after } };
      const prisma = await openPrisma();
      const rows = await prisma.person.findMany({ where, orderBy: { personId: 'asc' }, take: limit });
      return rows.map(personOf);
    },
    change: async (orgId, work) =>
      (await openPrisma()).$transaction(async (transaction) => {
        // Held until the end, so that two owners cannot each be removed as the last but one.
        const text = 'SELECT 1 FROM risk.orgs WHERE org_id = $1 FOR UPDATE';
        const held = await sqlOf(transaction).query({ text, values: [orgId] });
        if (held.length === 0) throw noSuchOrg();
        return work(peopleChange(transaction, orgId, write));
      }),
  };
}

function peopleChange(transaction: Prisma.TransactionClient, orgId: string, write: WriteDeed): PeopleChange {
  const ofPerson = (personId: string) => ({ personId, orgId, removedAt: null });
  return {
    async find(personId) {
      const row = await transaction.person.findUnique({ where: ofPerson(personId) });
      return row === null ? undefined : personOf(row);
    },
    wasRemoved: async (personId) =>
      (await transaction.person.count({ where: { personId, orgId, removedAt: { not: null } } })) > 0,
    countOwners: () => transaction.person.count({ where: { orgId, removedAt: null, roles: { has: 'owner' } } }),
    async insert({ id, scope, roles, ...person }) {
      const { unrestricted, canReadSensitive, departments } = scope;
      const columns = { unrestricted, canReadSensitive, departments: [...departments], roles: [...roles] };
      await transaction.person.create({ data: { personId: id, ...person, ...columns } });
    },
    async update(personId, { roles, scope }) {
      const data = {
        ...(roles === undefined ? {} : { roles: [...roles] }),
        ...(scope === undefined ? {} : { ...scope, departments: [...scope.departments] }),
      };
      await transaction.person.update({ where: { personId }, data });
    },
    async remove(personId, at) {
      await transaction.person.update({ where: { personId }, data: { removedAt: at } });
    },
    record: (deed) => write(sqlOf(transaction), orgId, deed),
  };
}

function personOf(row: PersonRow): Person {
  const { personId: id, orgId, name, kind, createdAt, unrestricted, departments, canReadSensitive } = row;
  return {
    id,
    orgId,
    name,
    kind: kind === 'machine' ? 'machine' : 'human',
    roles: ROLES.filter((role) => row.roles.includes(role)),
    scope: { unrestricted, departments, canReadSensitive },
    createdAt,
  };
}
