import type { GateDecision as Row, Prisma, PrismaClient } from '../generated/prisma/client.ts';

export type LoggedDecision = Omit<Row, 'seq' | 'decision'> & {
  readonly seq: number;
  readonly decision: 'allow' | 'deny';
};

export interface DecisionFilter {
  readonly environment: string;
  readonly subjectRef?: string;
  readonly venueId?: string;
  readonly decision?: 'allow' | 'deny';
  readonly reasonCode?: string;
  readonly keyId?: string;
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
}

export interface DecisionsStore {
  /** Newest first, behind `before`. */
  list(
    filter: DecisionFilter,
    page: { limit: number; before: { evaluatedAt: Date; decisionId: string } | undefined },
  ): Promise<LoggedDecision[]>;
  find(decisionId: string): Promise<LoggedDecision | undefined>;
}

/** The log of the gate as it was written. */
export function decisionsStore(prisma: PrismaClient): DecisionsStore {
  return {
    async list({ from, to, ...equal }, { limit, before }) {
      const times = { ...(from === undefined ? {} : { gte: from }), ...(to === undefined ? {} : { lt: to }) };
      const where: Prisma.GateDecisionWhereInput = { ...equal, evaluatedAt: times };
      if (before !== undefined) {
        const { evaluatedAt, decisionId } = before;
        where.OR = [{ evaluatedAt: { lt: evaluatedAt } }, { evaluatedAt, decisionId: { lt: decisionId } }];
      }
      const orderBy = [{ evaluatedAt: 'desc' as const }, { decisionId: 'desc' as const }];
      return (await prisma.gateDecision.findMany({ where, orderBy, take: limit })).map(decisionOf);
    },
    async find(decisionId) {
      const row = await prisma.gateDecision.findUnique({ where: { decisionId } });
      return row === null ? undefined : decisionOf(row);
    },
  };
}

function decisionOf(row: Row): LoggedDecision {
  return { ...row, seq: Number(row.seq), decision: row.decision === 'allow' ? 'allow' : 'deny' };
}
