import { AppError } from '@sealgate/errors';
import type { AdminCaller, Route } from '@sealgate/http';

const RETRY_AFTER_SECONDS = 1;

/**
 * The same routes, of which a database that cannot be reached makes 503, and never a bug's 500. An outage comes through
 * Prisma as errors of many classes, some of none, so the database itself is asked: what failed while it does not answer
 * failed for that.
 */
export function telling503(
  routes: readonly Route<AdminCaller>[],
  isReachable: () => Promise<boolean>,
): Route<AdminCaller>[] {
  return routes.map((route) => ({
    ...route,
    handler: async (context) => {
      try {
        return await route.handler(context);
      } catch (error) {
        if (error instanceof AppError || (await isReachable())) throw error;
        const options = { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error };
        throw new AppError('UNAVAILABLE', 'The database cannot be reached.', options);
      }
    },
  }));
}
