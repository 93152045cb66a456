import type { Sql } from '@sealgate/storage';
import type { Prisma } from '../generated/prisma/client.ts';

/** A transaction of Prisma's as what the libraries send statements to. */
export function sqlOf(transaction: Prisma.TransactionClient): Sql {
  return { query: ({ text, values = [] }) => transaction.$queryRawUnsafe(text, ...values) };
}
