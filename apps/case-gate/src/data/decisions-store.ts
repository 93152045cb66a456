import { COUNT_LIMIT, tableList, type ListCondition, type TableList } from '@sealgate/paging';
import type { Database, Sql } from '@sealgate/storage';
import { LoggedDecision } from '../domain/gate-decision.ts';
import { SCHEMA } from '../gate-migrations.ts';
import type { GateDecision as Row, PrismaClient } from '../generated/prisma/client.ts';
import { answerOf } from '../schemas.ts';

export interface DecisionFilter extends Partial<Pick<LoggedDecision, 'decision'>> {
  readonly environment: string;
  readonly subject_ref?: string;
  readonly venue_id?: string;
  readonly key_id?: string;
  readonly reason_code?: string;
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
}

interface Outcomes {
  readonly allow: number;
  readonly deny: number;
}

/** Counted decisions: of hours in which there were any, and of venues since the day began that holds the first hour. */
export interface Activity {
  readonly hours: readonly (Outcomes & { readonly at: Date })[];
  /** null: venues that do not exist. */
  readonly venues: readonly (Outcomes & { readonly venue_id: string | null })[];
}

export interface DecisionsStore {
  readonly list: TableList<DecisionFilter, LoggedDecision, 'evaluated_at'>;
  /** All environments, by process and sequence number, after `after`. */
  inOrder(page: {
    readonly process?: string;
    readonly after: string | undefined;
    readonly limit: number;
  }): Promise<LoggedDecision[]>;
  find(decisionId: string): Promise<LoggedDecision | undefined>;
  /** Counts of an environment from a time on; at most `venues` venues, those with most decisions first. */
  activity(asked: { readonly environment: string; readonly since: Date; readonly venues: number }): Promise<Activity>;
  /** How many `inOrder` has, COUNT_LIMIT at most. */
  countInOrder(process: string | undefined): Promise<number>;
}

/**
 * Pages through the log of gate decisions. Prisma's client is loaded and connected at first use: its query compiler takes
 * 30 MiB, and only administrators need it.
 */
export function decisionsStore(sql: Database): DecisionsStore {
  let client: PrismaClient | undefined;
  const prisma = async () => (client ??= await openPrisma(sql.pool));
  return {
    list: decisionList(sql),
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
    async countInOrder(process) {
      const prefix = process === undefined ? 'gd_' : `gd_${process}_`;
      const [row] = await sql.query<{ n: number }>({
        text: `SELECT count(*)::int AS n FROM (
                 SELECT FROM gate.gate_decisions WHERE decision_id > $1 AND decision_id < $2 LIMIT ${COUNT_LIMIT}) d`,
        values: [prefix, `${prefix}~`],
      });
      return row?.n ?? 0;
    },
    activity: (asked) => activity(sql, asked),
    async find(decisionId) {
      const row = await (await prisma()).gateDecision.findUnique({ where: { decision_id: decisionId } });
      return row === null ? undefined : decisionOf(row);
    },
  };
}

const OUTCOMES = `coalesce(sum(c.decisions) FILTER (WHERE c.decision = 'allow'), 0)::float8 AS allow,
                  coalesce(sum(c.decisions) FILTER (WHERE c.decision = 'deny'), 0)::float8 AS deny`;

async function activity(
  sql: Sql,
  { environment, since, venues }: Parameters<DecisionsStore['activity']>[0],
): Promise<Activity> {
  const [hours, byVenue] = await Promise.all([
    sql.query<Outcomes & { at: Date }>({
      name: 'gate decisions by hour',
      text: `SELECT c.starts_at AS at, ${OUTCOMES} FROM gate.decision_counts c
              WHERE c.environment = $1 AND c.span = 'hour' AND c.starts_at >= date_trunc('hour', $2::timestamptz, 'UTC')
              GROUP BY c.starts_at ORDER BY c.starts_at`,
      values: [environment, since],
    }),
    sql.query<Outcomes & { venue_id: string }>({
      name: 'gate decisions by venue',
      text: `SELECT c.venue_id, ${OUTCOMES} FROM gate.decision_counts c
              WHERE c.environment = $1 AND c.span = 'day' AND c.starts_at >= date_trunc('day', $2::timestamptz, 'UTC')
              GROUP BY c.venue_id ORDER BY sum(c.decisions) DESC, c.venue_id LIMIT $3`,
      values: [environment, since, venues],
    }),
  ]);
  return { hours, venues: byVenue.map(({ venue_id: id, ...counted }) => ({ ...counted, venue_id: id || null })) };
}

/** The filters that are marks of the index; see gate_decisions_by_mark. */
const MARKS = {
  subject_ref: 'subject',
  venue_id: 'venue',
  decision: 'decision',
  reason_code: 'reason',
  key_id: 'key',
} as const;

const COLUMNS = Object.keys(LoggedDecision.properties).map((column) =>
  column === 'reason_codes' ? 'l.reason_code' : `l.${column}`,
);

const decisionList = (sql: Sql) =>
  tableList(sql, {
    from: 'gate.gate_decisions l',
    columns: COLUMNS.join(', '),
    id: 'l.decision_id',
    orders: { evaluated_at: { by: 'l.evaluated_at', type: 'timestamptz' } },
    whereOf({ environment, from, to, ...filter }: DecisionFilter) {
      const names = Object.keys(MARKS) as (keyof typeof MARKS)[];
      const given = names.filter((name) => filter[name] !== undefined);
      const equal = given.map((name): ListCondition => [`l.${name} = $`, filter[name]]);
      const marks = given.map((name) => `${environment} ${MARKS[name]} ${filter[name]}`);
      const index: ListCondition = [HAS_MARKS, marks];
      const times: ListCondition[] = [
        ['l.evaluated_at >= $', from],
        ['l.evaluated_at < $', to],
      ];
      return {
        conditions: [['l.environment = $', environment], ...times.filter(([, value]) => value !== undefined)],
        ...(equal.length === 0 ? { walked: ['evaluated_at'] } : { marked: { conditions: equal, index } }),
      };
    },
    read: decisionOf,
  });

const HAS_MARKS = `gate.decision_marks(l.environment, l.subject_ref, l.venue_id, l.decision, l.reason_code, l.key_id)
  @> ARRAY(SELECT hashtext(mark) FROM unnest($::text[]) mark)`;

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
