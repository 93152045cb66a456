import { searchText, sortText, tableList } from '@sealgate/paging';
import type { Database, Sql } from '@sealgate/storage';
import type { Org, OrgStore } from '../domain/manage-orgs.ts';
import type { Prisma, PrismaClient } from '../generated/prisma/client.ts';
import type { RunAudited } from '../audited-changes.ts';
import { SCHEMA } from '../risk-migrations.ts';
import { insertRow } from './insert-row.ts';
import { addOpenChange } from './revisions.ts';

const ORG_COLUMNS = 'org_id AS id, name, created_at';

/** Organisations in PostgreSQL. By SQL alone, as every change of an organisation's data writes its row (`nextRevision`). */
export function orgsStore(database: Database, runAudited: RunAudited, look: Sql): OrgStore {
  return {
    insert: (org, entry) =>
      runAudited(org.id, async (sql, record) => {
        const { id, name, createdAt } = org;
        const row = { org_id: id, name, created_at: createdAt, revised_at: createdAt };
        await sql.query(insertRow('orgs', { ...row, folded: searchText([id, name]), sorted_name: sortText(name) }));
        await sql.query(insertRow('revisions', { org_id: id, revision: 1, created_at: createdAt }));
        await addOpenChange({ sql, orgId: id, revision: 1 }, 'org', 0);
        await record(entry);
        return org;
      }),
    async find(id) {
      const text = `SELECT ${ORG_COLUMNS} FROM risk.orgs WHERE org_id = $1`;
      return (await database.query<OrgRow>({ text, values: [id] })).map(orgOf)[0];
    },
    list: tableList(look, {
      from: 'risk.orgs l',
      columns: 'l.org_id AS id, l.name, l.created_at',
      id: 'l.org_id',
      // Ids begin with their time.
      orders: { createdAt: { by: 'l.org_id', type: 'text' }, name: { by: 'l.sorted_name', type: 'text' } },
      searched: `risk.grams(l.folded, '{}') @> $grams AND l.folded LIKE ALL ($patterns)`,
      whereOf: () => ({ conditions: [] }),
      read: orgOf,
    }),
  };
}

const orgOf = ({ id, name, created_at: createdAt }: OrgRow): Org => ({ id, name, createdAt: createdAt.toISOString() });

interface OrgRow {
  id: string;
  name: string;
  created_at: Date;
}

/** Prisma's client, loaded and connected at first use: its query compiler takes 30 MiB, and only administrators need it. */
export type OpenPrisma = () => Promise<PrismaClient>;

/** Limits for starting and for completing a transaction; beyond them the caller gets 503. */
const transactionOptions = { maxWait: 4000, timeout: 4000 };

/** Opens the client once. Connecting loads the query compiler, so that no transaction waits for it. */
export function openPrismaOnce(pool: Database['pool']): OpenPrisma {
  let opened: Promise<PrismaClient> | undefined;
  const open = async () => {
    const [{ PrismaPg }, { PrismaClient }] = await Promise.all([
      import('@prisma/adapter-pg'),
      import('../generated/prisma/client.ts'),
    ]);
    const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { schema: SCHEMA }), transactionOptions });
    await prisma.$connect();
    return prisma;
  };
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

/** Runs SQL statements in a transaction of Prisma. */
export function sqlOf(transaction: Prisma.TransactionClient): Sql {
  return { query: ({ text, values = [] }) => transaction.$queryRawUnsafe(text, ...values) };
}
