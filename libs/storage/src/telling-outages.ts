import { AppError, type ErrorCode } from '@sealgate/errors';
import { refusalCode } from './database-errors.ts';
import type { Database } from './database.ts';
import { DatabaseUnavailableError } from './database-unavailable-error.ts';

/** How an outage is told. */
export interface OutageTelling {
  /** What is out of reach, as a sentence. Default: 'The database cannot be reached.' */
  readonly detail?: string;
  /** Whether `work` changes something: then an answer that was lost leaves it open whether it did. Default false. */
  readonly changes?: boolean;
  /** What to do where that is open. Default: 'read it before you send it again'. */
  readonly advice?: string;
  /**
   * Whether the database answers now; bounded in time. Asked where an error is of no class of ours, as those of Prisma are:
   * what failed while the database does not answer failed for that. Absent: such an error passes.
   */
  readonly isReachable?: () => Promise<boolean>;
}

/**
 * Runs `work`, of which a database that gives no answer makes a refusal, and never a bug's 500. Nothing is sent again.
 * @throws AppError UNAVAILABLE where nothing was changed, OUTCOME_UNKNOWN where the answer to a change was lost; all else
 *   that `work` throws, as it is.
 */
export async function tellingOutages<Result>(
  work: () => Result | Promise<Result>,
  telling: OutageTelling = {},
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError || !(await isOutage(error, telling.isReachable))) throw error;
    throw refusalOf(error, telling);
  }
}

/** What is seen of a route here. */
interface Told {
  readonly method: string;
  readonly errors: readonly ErrorCode[];
  handler(context: never): unknown;
}

/** The same routes, of which every outage is told as `tellingOutages` does; their descriptions say so. */
export function telling503<Route extends Told>(
  routes: readonly Route[],
  telling: Pick<OutageTelling, 'advice' | 'isReachable'> = {},
): Route[] {
  return routes.map((route) => {
    const changes = route.method !== 'get';
    const errors = changes ? [...new Set([...route.errors, 'OUTCOME_UNKNOWN'] as const)] : route.errors;
    const handler = (context: never) => tellingOutages(() => route.handler(context), { ...telling, changes });
    return { ...route, errors, handler };
  });
}

/** Whether the database answers within that time; never throws. */
export function isReachable(database: Pick<Database, 'ping'>, withinMs: number): Promise<boolean> {
  return database.ping(withinMs).then(
    () => true,
    () => false,
  );
}

async function isOutage(error: unknown, asks: OutageTelling['isReachable']): Promise<boolean> {
  if (error instanceof DatabaseUnavailableError) return true;
  if (refusalCode(error) !== undefined) return true;
  return asks !== undefined && (isTransactionLost(error) || !(await asks()));
}

/**
 * Prisma's own words for a transaction that did not begin in time, or was cut off: the database may answer again by now,
 * and what was asked is to be asked again all the same. (Prisma error reference: P1008, P1017, P2024, P2028.)
 */
function isTransactionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^P(1008|1017|2024|2028)$/.test(code);
}

function refusalOf(cause: unknown, telling: OutageTelling): AppError {
  const { detail = 'The database cannot be reached.', advice = 'read it before you send it again' } = telling;
  if (telling.changes === true && cause instanceof DatabaseUnavailableError && cause.sent) {
    return new AppError('OUTCOME_UNKNOWN', `The database did not say whether the change was made; ${advice}.`, {
      cause,
    });
  }
  return new AppError('UNAVAILABLE', detail, { cause });
}
