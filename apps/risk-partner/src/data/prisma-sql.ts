import type { Sql } from '@sealgate/storage';
import type { Prisma, PrismaClient } from '../generated/prisma/client.ts';

/** Prisma's client, made and connected at the first use. Its query compiler takes 30 MiB, and only administrators need it. */
export type OpenPrisma = () => Promise<PrismaClient>;

/** Makes the client once. Connecting loads the query compiler, so that no transaction waits for it. */
export function openPrismaOnce(make: () => PrismaClient): OpenPrisma {
  let opened: Promise<PrismaClient> | undefined;
  const open = async () => {
    const prisma = make();
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

/** A transaction of Prisma's as what the libraries send statements to. */
export function sqlOf(transaction: Prisma.TransactionClient): Sql {
  return { query: ({ text, values = [] }) => transaction.$queryRawUnsafe(text, ...values) };
}
