import { AppError, type ErrorCode } from '@sealgate/errors';
import type { Database } from './database.ts';
import { forClient, type LookingClient } from './looking.ts';
import {
  DatabaseUnavailableError,
  isConnectionLost,
  isDeadlock,
  mayBeWritten,
  READ_ONLY,
  refusalCode,
} from './database-errors.ts';

/** How an outage is reported. */
interface OutageMapping {
  /** The error detail. Default: 'The database cannot be reached.' */
  readonly detail?: string;
  /** Whether `work` writes: then a lost answer means that the outcome is unknown. Default false. */
  readonly changes?: boolean;
  /** What the caller should do if the outcome is unknown. Default: 'read it before you send it again'. */
  readonly advice?: string;
  /**
   * Whether the database answers now; bounded in time. Called for errors of foreign classes, such as Prisma's: if the
   * database does not answer, the error counts as an outage. Absent: such errors are rethrown.
   */
  readonly isReachable?: () => Promise<boolean>;
}

/**
 * Runs `work` and maps a database outage to an AppError instead of a 500. Nothing is retried.
 * @throws AppError UNAVAILABLE where nothing was changed, OUTCOME_UNKNOWN where the answer to a write was lost; every
 *   other error of `work` unchanged.
 */
export async function mapOutages<Result>(
  work: () => Result | Promise<Result>,
  mapping: OutageMapping = {},
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError || !(await isOutage(error, mapping.isReachable))) throw error;
    throw refusalOf(error, mapping);
  }
}

interface OutageRoute {
  readonly method: string;
  readonly errors: readonly ErrorCode[];
  readonly looks?: true | 'stream';
  handler(context: never): unknown;
}

/**
 * The routes with every outage mapped by `mapOutages`; writes declare OUTCOME_UNKNOWN. Those that look give up as
 * `forClients` says.
 */
export function mapRouteOutages<Route extends OutageRoute>(
  routes: readonly Route[],
  mapping: Pick<OutageMapping, 'advice' | 'isReachable'> = {},
): Route[] {
  const mapped = routes.map((route) => {
    const changes = route.method !== 'get';
    const errors = changes ? [...new Set([...route.errors, 'OUTCOME_UNKNOWN'] as const)] : route.errors;
    const handler = (context: never) => mapOutages(() => route.handler(context), { ...mapping, changes });
    return { ...route, errors, handler };
  });
  return forClients(mapped);
}

/** The routes; statements of those that look take turns with other callers', and end once their client has gone. */
export const forClients = <Route extends Pick<OutageRoute, 'looks' | 'handler'>>(routes: readonly Route[]): Route[] =>
  routes.map((route) => {
    if (route.looks === undefined) return route;
    const handler = (context: LookingClient) => forClient(context, () => route.handler(context as never));
    return { ...route, handler };
  });

/** Whether the database answers within `withinMs`; never throws. */
export function isReachable(database: Pick<Database, 'ping'>, withinMs: number): Promise<boolean> {
  return database.ping(withinMs).then(
    () => true,
    () => false,
  );
}

async function isOutage(error: unknown, asks: OutageMapping['isReachable']): Promise<boolean> {
  if (error instanceof DatabaseUnavailableError) return true;
  if (refusalCode(error) !== undefined || isDeadlock(error)) return true;
  return asks !== undefined && (isConnectionLost(error) || !(await asks()));
}

function refusalOf(cause: unknown, mapping: OutageMapping): AppError {
  const { detail = 'The database cannot be reached.', advice = 'read it before you send it again' } = mapping;
  if (isDeadlock(cause))
    return new AppError('UNAVAILABLE', 'The database undid the transaction: a deadlock.', { cause });
  // A refusal is no outage: a caller who waits, or an operator who looks at the network, would look for nothing.
  const refused = refusalCode(cause);
  if (mapping.changes === true && refused === undefined && mayBeWritten(cause)) {
    return new AppError('OUTCOME_UNKNOWN', `The database did not say whether the change was made; ${advice}.`, {
      cause,
    });
  }
  return new AppError('UNAVAILABLE', refused === undefined ? detail : refusalSentence(refused), { cause });
}

/** Without names of roles, tables or variables: a caller may read it. */
function refusalSentence(code: string): string {
  if (code === READ_ONLY) return 'The database takes no writes: it is a standby, or was made read-only.';
  if (code === '42501') return 'The database role of this service lacks a right; an operator has to grant it.';
  if (code.startsWith('28')) return 'The database refuses the role or the password of this service.';
  if (code === '3D000') return 'The database of this service does not exist.';
  return 'The database is not migrated for this version of the service.';
}
