import { AppError } from '@sealgate/errors';
import type { Route } from '@sealgate/http';
import { DatabaseUnavailableError } from '@sealgate/storage';

const RETRY_AFTER_SECONDS = 1;

/**
 * The same routes, of which a database that cannot be reached makes 503, and never a bug's 500. Where the answer to a
 * commit was lost the change may have been made, and the refusal says so. Prisma tells of an outage in errors of many
 * classes: there, with `isReachable`, the database itself is asked.
 */
export function telling503<Caller>(
  routes: readonly Route<Caller>[],
  isReachable?: () => Promise<boolean>,
): Route<Caller>[] {
  return routes.map((route) => ({
    ...route,
    errors: route.method === 'get' || isReachable !== undefined ? route.errors : [...route.errors, 'OUTCOME_UNKNOWN'],
    handler: async (context) => {
      try {
        return await route.handler(context);
      } catch (error) {
        if (error instanceof AppError) throw error;
        if (error instanceof DatabaseUnavailableError) throw refusalOf(error, route.method === 'get');
        if (isReachable === undefined) throw error;
        if (isTransactionLost(error) || !(await isReachable())) throw unavailable(error);
        throw error;
      }
    },
  }));
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

function refusalOf(error: DatabaseUnavailableError, isRead: boolean): AppError {
  if (isRead || !error.sent) return unavailable(error);
  const detail = 'The database did not say whether the change was made; read it before you send it again.';
  return new AppError('OUTCOME_UNKNOWN', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error });
}

function unavailable(cause: unknown): AppError {
  return new AppError('UNAVAILABLE', 'The database cannot be reached.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
}
