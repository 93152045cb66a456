import { searchText, tableList } from '@sealgate/paging';
import { confirmRows, type Database, type Sql } from '@sealgate/storage';
import type { NetworkStore } from '../domain/manage-networks.ts';
import type { Network, NetworkChange } from '../domain/network.ts';
import type { Network as NetworkRow, Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { SCHEMA } from '../ingest-migrations.ts';
import type { Limits } from '../schemas.ts';

const HOLD = 'SELECT 1 FROM ingest.networks WHERE network_id = $1';

/** Whether the network exists; if so, locks its row until the transaction ends. */
export async function holdNetwork(sql: Sql, networkId: string): Promise<boolean> {
  const rows = await sql.query({ text: `${HOLD} AND deleted_at IS NULL FOR SHARE`, values: [networkId] });
  return rows.length > 0;
}

/**
 * Networks in PostgreSQL. A deleted network keeps its row, so its id is never assigned again. Prisma's client is loaded
 * by the first call: its query compiler takes 30 MiB, and only administrators need it.
 */
export function networksStore(sql: Database, look: Sql = sql): NetworkStore {
  let opened: Promise<PrismaClient> | undefined;
  const openPrisma = () => {
    opened ??= loadPrisma(sql.pool).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  return {
    async insert({ networkId, name, channels, limits }, also) {
      const data = { networkId, name, channels, ...limitColumns(limits), folded: searchText([networkId, name]) };
      const prisma = await openPrisma();
      return prisma.$transaction(async (transaction) => {
        const [row] = await transaction.network.createManyAndReturn({ data, skipDuplicates: true });
        if (row === undefined) {
          await confirmRows(sqlOf(transaction));
          return undefined;
        }
        await also(sqlOf(transaction));
        return networkOf(row);
      });
    },
    async find(networkId) {
      const prisma = await openPrisma();
      const row = await prisma.network.findUnique({ where: { networkId, deletedAt: null } });
      return row === null ? undefined : networkOf(row);
    },
    list: tableList(look, {
      from: 'ingest.networks l',
      columns: `l.network_id AS "networkId", l.name, l.channels, l.rate_per_second AS "ratePerSecond", l.burst,
        l.created_at AS "createdAt"`,
      id: 'l.network_id',
      orders: {
        networkId: { by: 'l.network_id', type: 'text' },
        name: { by: 'left(l.name, 40) COLLATE "C"', type: 'text', nullable: true },
        createdAt: { by: 'l.created_at', type: 'timestamptz' },
      },
      whereOf: () => ({ conditions: [['l.deleted_at IS NULL AND $', true]] }),
      read: networkOf,
    }),
    async update(networkId, change, also) {
      const prisma = await openPrisma();
      return prisma.$transaction(async (transaction) => {
        const where = { networkId, deletedAt: null };
        const [row] = await transaction.network.updateManyAndReturn({ where, data: columnsOf(networkId, change) });
        if (row === undefined) return undefined;
        await also(sqlOf(transaction));
        return networkOf(row);
      });
    },
    async delete(networkId, at, { isInUse, also }) {
      const prisma = await openPrisma();
      return prisma.$transaction(async (transaction) => {
        const sql = sqlOf(transaction);
        // Minting a key locks this row too, so no key can be minted between this check and the deletion.
        const held = await sql.query({ text: `${HOLD} FOR UPDATE`, values: [networkId] });
        if (held.length === 0) return 'missing';
        if (await isInUse(sql)) return 'in use';
        const where = { networkId, deletedAt: null };
        const { count } = await transaction.network.updateMany({ where, data: { deletedAt: at } });
        if (count === 0) return 'already';
        await also(sql);
        return 'deleted';
      });
    },
  };
}

/** Connecting loads the query compiler, so that no transaction waits for it. */
async function loadPrisma(pool: Database['pool']): Promise<PrismaClient> {
  const [{ PrismaPg }, { PrismaClient }] = await Promise.all([
    import('@prisma/adapter-pg'),
    import('../generated/prisma/client.ts'),
  ]);
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { schema: SCHEMA }) });
  await prisma.$connect();
  return prisma;
}

/** Adapts a Prisma transaction to the `Sql` interface of the libraries. */
function sqlOf(transaction: Prisma.TransactionClient): Sql {
  return { query: ({ text, values = [] }) => transaction.$queryRawUnsafe(text, ...values) };
}

function columnsOf(networkId: string, { name, channels, limits }: NetworkChange) {
  return {
    ...(name === undefined ? {} : { name, folded: searchText([networkId, name]) }),
    ...(channels === undefined ? {} : { channels }),
    ...(limits === undefined ? {} : limitColumns(limits)),
  };
}

function limitColumns(limits: Limits | null) {
  return { ratePerSecond: limits?.ratePerSecond ?? null, burst: limits?.burst ?? null };
}

function networkOf(row: Omit<NetworkRow, 'deletedAt' | 'folded'>): Network {
  const { networkId, name, channels, ratePerSecond, burst, createdAt } = row;
  const limits = ratePerSecond === null || burst === null ? null : { ratePerSecond, burst };
  return { networkId, name, channels, limits, createdAt: createdAt.toISOString() };
}
