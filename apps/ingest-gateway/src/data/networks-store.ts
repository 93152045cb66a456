import type { Limits } from '../domain/key-grants.ts';
import type { Network, NetworkChange, NetworkStore } from '../domain/manage-networks.ts';
import type { PrismaClient, Network as NetworkRow } from '../generated/prisma/client.ts';

/** Networks in PostgreSQL. A deleted one keeps its row, so that its id is never given twice. */
export function networksStore(prisma: PrismaClient): NetworkStore {
  return {
    async insert({ networkId, name, channels, limits }) {
      const rows = await prisma.network.createManyAndReturn({
        data: { networkId, name, channels: [...channels], ...limitColumns(limits) },
        skipDuplicates: true,
      });
      return rows[0] === undefined ? undefined : networkOf(rows[0]);
    },
    async find(networkId) {
      const row = await prisma.network.findUnique({ where: { networkId, deletedAt: null } });
      return row === null ? undefined : networkOf(row);
    },
    async list({ limit, after }) {
      const rows = await prisma.network.findMany({
        where: { deletedAt: null, networkId: { gt: after } },
        orderBy: { networkId: 'asc' },
        take: limit,
      });
      return rows.map(networkOf);
    },
    async update(networkId, change) {
      const rows = await prisma.network.updateManyAndReturn({
        where: { networkId, deletedAt: null },
        data: columnsOf(change),
      });
      return rows[0] === undefined ? undefined : networkOf(rows[0]);
    },
    async delete(networkId, at) {
      const known = await prisma.network.findUnique({ where: { networkId } });
      if (known === null) return 'missing';
      const { count } = await prisma.network.updateMany({
        where: { networkId, deletedAt: null },
        data: { deletedAt: at },
      });
      return count === 0 ? 'already' : 'deleted';
    },
  };
}

function columnsOf({ name, channels, limits }: NetworkChange) {
  return {
    ...(name === undefined ? {} : { name }),
    ...(channels === undefined ? {} : { channels: [...channels] }),
    ...(limits === undefined ? {} : limitColumns(limits)),
  };
}

function limitColumns(limits: Limits | null) {
  return { ratePerSecond: limits?.ratePerSecond ?? null, burst: limits?.burst ?? null };
}

function networkOf(row: NetworkRow): Network {
  const { networkId, name, channels, ratePerSecond, burst, createdAt } = row;
  const limits = ratePerSecond === null || burst === null ? null : { ratePerSecond, burst };
  return { networkId, name, channels, limits, createdAt };
}
