import { bearerToken, type HashedSecrets } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { sha256 } from '@sealgate/json';
import { createApp, type App, type AppOptions } from './create-app.ts';
import type { AuthRequest, Guard } from './guard.ts';
import type { LimitRange } from './parameters.ts';
import { routeFor } from './route.ts';

/** The most that an admin body may hold. */
export const ADMIN_BODY_MAX_BYTES = 65_536;

/** The pages of every admin list. */
export const ADMIN_LIST_RANGE: LimitRange = { default: 50, max: 200 };

/** Whoever holds a token of the operator. */
export interface AdminCaller {
  /** `admin:` and the first eight digits of the token's hash: tells tokens apart in the audit, and opens nothing. */
  readonly actor: string;
}

/** `route` of the admin listeners. */
export const adminRoute = routeFor<AdminCaller>();

export interface AdminAppOptions extends Omit<AppOptions<AdminCaller>, 'guard' | 'head'> {
  /** Undefined, or empty: no token was configured, and every path is a 404. */
  readonly tokens: HashedSecrets | undefined;
  /** Counts failures per client address, in a bucket that is not the public listener's. */
  readonly failedAuthentication: NonNullable<Guard<AdminCaller>['failedAuthentication']>;
}

/**
 * The admin listener: the same app with a guard of its own.
 * @throws Error when a route is not valid, or its body may be larger than ADMIN_BODY_MAX_BYTES.
 */
export function adminApp(options: AdminAppOptions): App {
  const { tokens, failedAuthentication, routes, ...rest } = options;
  const large = routes.find(({ bodyMaxBytes }) => (bodyMaxBytes ?? 0) > ADMIN_BODY_MAX_BYTES);
  if (large !== undefined)
    throw new Error(`${large.operationId}: an admin body may hold ${ADMIN_BODY_MAX_BYTES} bytes.`);
  const hasTokens = tokens !== undefined && tokens.size > 0;
  return createApp<AdminCaller>({
    ...rest,
    routes: hasTokens ? routes : [],
    guard: hasTokens ? adminGuard(tokens, failedAuthentication) : undefined,
    head: false,
  });
}

function adminGuard(
  tokens: HashedSecrets,
  failedAuthentication: AdminAppOptions['failedAuthentication'],
): Guard<AdminCaller> {
  return {
    challenge: 'Bearer',
    authenticate: async (request: AuthRequest) => {
      const token = bearerToken(request.header('authorization')[0] ?? '');
      if (token === undefined || tokens.find(token) === undefined)
        throw new AppError('UNAUTHENTICATED', 'No such token.');
      return { actor: `admin:${sha256(token).toString('hex').slice(0, 8)}` };
    },
    permits: () => true,
    charge: async () => {
      throw new Error('Admin routes are not charged.');
    },
    failedAuthentication,
  };
}
