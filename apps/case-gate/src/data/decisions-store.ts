import type { Database } from '@sealgate/storage';
import { LoggedDecision } from '../domain/gate-decision.ts';
import { SCHEMA } from '../gate-migrations.ts';
import type { GateDecision as Row, Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { answerOf } from '../schemas.ts';

interface DecisionFilter extends Pick<LoggedDecision, 'environment'> {
  readonly equal: Partial<
    Pick<LoggedDecision, 'subject_ref' | 'venue_id' | 'decision' | 'key_id'> & { readonly reason_code: string }
  >;
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
}

export interface DecisionsStore {
  /** Newest first, after `before`. */
  list(
    filter: DecisionFilter,
    page: { limit: number; before: { at: Date; id: string } | undefined },
  ): Promise<LoggedDecision[]>;
  /** All environments, by process and sequence number, after `after`. */
  inOrder(page: {
    readonly process?: string;
    readonly after: string | undefined;
    readonly limit: number;
  }): Promise<LoggedDecision[]>;
  find(decisionId: string): Promise<LoggedDecision | undefined>;
}

/**
 * Pages through the log of gate decisions. Prisma's client is loaded and connected at first use: its query compiler takes
 * 30 MiB, and only administrators need it.
 */
export function decisionsStore(pool: Database['pool']): DecisionsStore {
  let client: PrismaClient | undefined;
  const prisma = async () => (client ??= await openPrisma(pool));
  return {
    async list({ environment, equal, from, to }, { limit, before }) {
      const times = { ...(from === undefined ? {} : { gte: from }), ...(to === undefined ? {} : { lt: to }) };
      const where: Prisma.GateDecisionWhereInput = { environment, ...equal, evaluated_at: times };
      if (before !== undefined) {
        where.OR = [{ evaluated_at: { lt: before.at } }, { evaluated_at: before.at, decision_id: { lt: before.id } }];
      }
      const orderBy = [{ evaluated_at: 'desc' as const }, { decision_id: 'desc' as const }];
      return (await (await prisma()).gateDecision.findMany({ where, orderBy, take: limit })).map(decisionOf);
    },
    async inOrder({ process, after, limit }) {
      // Ids are `gd_<process>_<number>` and sort bytewise in chain order.
      const prefix = process === undefined ? 'gd_' : `gd_${process}_`;
      const decision_id = { gt: after ?? prefix, lt: `${prefix}~` };
      const found = (await prisma()).gateDecision.findMany({
        where: { decision_id },
        orderBy: { decision_id: 'asc' },
        take: limit,
      });
      return (await found).map(decisionOf);
    },
    async find(decisionId) {
      const row = await (await prisma()).gateDecision.findUnique({ where: { decision_id: decisionId } });
      return row === null ? undefined : decisionOf(row);
    },
  };
}

async function openPrisma(pool: Database['pool']): Promise<PrismaClient> {
  const [{ PrismaPg }, { PrismaClient }] = await Promise.all([
    import('@prisma/adapter-pg'),
    import('../generated/prisma/client.ts'),
  ]);
  return new PrismaClient({ adapter: new PrismaPg(pool, { schema: SCHEMA }) });
}

function decisionOf({ reason_code, hash, ...row }: Row): LoggedDecision {
  return answerOf(LoggedDecision, {
    ...row,
    seq: Number(row.seq),
    decision: row.decision === 'allow' ? 'allow' : 'deny',
    reason_codes: [reason_code],
    evaluated_at: row.evaluated_at.toISOString(),
    hash: hash === null ? null : Buffer.from(hash).toString('hex'),
  });
}
