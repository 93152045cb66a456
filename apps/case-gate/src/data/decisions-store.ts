import type { Database } from '@sealgate/storage';
import type { LoggedDecision } from '../domain/gate-decision.ts';
import { SCHEMA } from '../gate-migrations.ts';
import type { GateDecision as Row, Prisma, PrismaClient } from '../generated/prisma/client.ts';

interface DecisionFilter {
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
  /** Newest first, after `before`. */
  list(
    filter: DecisionFilter,
    page: { limit: number; before: { at: Date; id: string } | undefined },
  ): Promise<LoggedDecision[]>;
  /** All environments, by process and sequence number, after `after`. */
  inOrder(page: {
    readonly process: string | undefined;
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
    async list({ from, to, ...equal }, { limit, before }) {
      const times = { ...(from === undefined ? {} : { gte: from }), ...(to === undefined ? {} : { lt: to }) };
      const where: Prisma.GateDecisionWhereInput = { ...equal, evaluatedAt: times };
      if (before !== undefined) {
        where.OR = [{ evaluatedAt: { lt: before.at } }, { evaluatedAt: before.at, decisionId: { lt: before.id } }];
      }
      const orderBy = [{ evaluatedAt: 'desc' as const }, { decisionId: 'desc' as const }];
      return (await (await prisma()).gateDecision.findMany({ where, orderBy, take: limit })).map(decisionOf);
    },
    async inOrder({ process, after, limit }) {
      // Ids are `gd_<process>_<number>` and sort bytewise in chain order.
      const prefix = process === undefined ? 'gd_' : `gd_${process}_`;
      const decisionId = { gt: after ?? prefix, lt: `${prefix}~` };
      const found = (await prisma()).gateDecision.findMany({
        where: { decisionId },
        orderBy: { decisionId: 'asc' },
        take: limit,
      });
      return (await found).map(decisionOf);
    },
    async find(decisionId) {
      const row = await (await prisma()).gateDecision.findUnique({ where: { decisionId } });
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

function decisionOf(row: Row): LoggedDecision {
  return {
    decision_id: row.decisionId,
    process: row.process,
    seq: Number(row.seq),
    environment: row.environment,
    key_id: row.keyId,
    request_id: row.requestId,
    subject_ref: row.subjectRef,
    venue_id: row.venueId,
    action: row.action,
    decision: row.decision === 'allow' ? 'allow' : 'deny',
    reason_codes: [row.reasonCode],
    fail_closed: row.failClosed,
    policy_version: row.policyVersion,
    ledger_record_id: row.ledgerRecordId,
    record_version: row.recordVersion,
    evaluated_at: row.evaluatedAt.toISOString(),
    hash: row.hash === null ? null : Buffer.from(row.hash).toString('hex'),
  };
}
