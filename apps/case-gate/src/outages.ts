import { AppError } from '@sealgate/errors';
import type { Route } from '@sealgate/http';
import { DatabaseUnavailableError } from '@sealgate/storage';

const RETRY_AFTER_SECONDS = 1;

/**
 * The same routes, of which a database that does not answer makes 503, and never a bug's 500. Where a commit may have
 * taken effect the answer says that it is not known: the same request sent again settles it.
 *
 * An outage also comes through Prisma, as errors of many classes; there the database itself is asked (`isReachable`).
 */
export function telling503<Caller>(
  routes: readonly Route<Caller>[],
  isReachable: () => Promise<boolean>,
): Route<Caller>[] {
  return routes.map((route) => ({
    ...route,
    handler: async (context) => {
      try {
        return await route.handler(context);
      } catch (error) {
        throw await refusalOf(error, route.method, isReachable);
      }
    },
  }));
}

async function refusalOf(error: unknown, method: string, isReachable: () => Promise<boolean>): Promise<unknown> {
  if (error instanceof AppError) return error;
  const options = { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error };
  if (error instanceof DatabaseUnavailableError && error.sent && method !== 'get') {
    return new AppError(
      'OUTCOME_UNKNOWN',
      'The database did not say whether it took the change; send it again.',
      options,
    );
  }
  if (error instanceof DatabaseUnavailableError || !(await isReachable())) {
    return new AppError('UNAVAILABLE', 'The database cannot be reached.', options);
  }
  return error;
}
