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

/** Whoever holds a token of the operator, or has signed in. */
export interface AdminCaller {
  /**
   * Names the caller in the audit, and opens nothing: `admin:` and the first eight digits of a static token's hash, or
   * `oidc:<issuer>#<subject>`.
   */
  readonly actor: string;
  /** An `operator` may do everything, a `viewer` reads. */
  readonly role: 'operator' | 'viewer';
  /** Of somebody who signed in; undefined behind a static token. */
  readonly identity?: { readonly issuer: string; readonly subject: string };
}

const CHANGE = 'admin:change';
const anyRoute = routeFor<AdminCaller>();

/** `route` of the admin listeners: whatever is not read needs the role of an operator. */
export const adminRoute: typeof anyRoute = (definition) => {
  const made = anyRoute(definition);
  return made.permit === 'authenticated' && made.method !== 'get' ? { ...made, permit: CHANGE } : made;
};

/** Who may use an admin listener. */
export interface AdminSignIn {
  /** Undefined, or empty: no token was configured, and every path is a 404 unless people sign in. */
  readonly tokens: HashedSecrets | undefined;
  /** Who signed in with this access token, where such are taken; it gives undefined for nobody who may be here. */
  readonly findPerson?: ((token: string) => Promise<AdminCaller | undefined>) | undefined;
}

export interface AdminAppOptions extends AdminSignIn, Omit<AppOptions<AdminCaller>, 'guard' | 'head'> {
  /** Counts failures per client address, in a bucket that is not the public listener's. */
  readonly failedAuthentication: NonNullable<Guard<AdminCaller>['failedAuthentication']>;
}

/**
 * The admin listener: the same app with a guard of its own.
 * @throws Error when a route is not valid, or its body may be larger than ADMIN_BODY_MAX_BYTES.
 */
export function adminApp(options: AdminAppOptions): App {
  const { tokens, findPerson, failedAuthentication, routes, ...rest } = options;
  const large = routes.find(({ bodyMaxBytes }) => (bodyMaxBytes ?? 0) > ADMIN_BODY_MAX_BYTES);
  if (large !== undefined)
    throw new Error(`${large.operationId}: an admin body may hold ${ADMIN_BODY_MAX_BYTES} bytes.`);
  const isOpen = findPerson !== undefined || (tokens !== undefined && tokens.size > 0);
  return createApp<AdminCaller>({
    ...rest,
    routes: isOpen ? routes : [],
    guard: isOpen ? adminGuard({ tokens, findPerson, failedAuthentication }) : undefined,
    head: false,
  });
}

function adminGuard({
  tokens,
  findPerson,
  failedAuthentication,
}: AdminSignIn & Pick<AdminAppOptions, 'failedAuthentication'>): Guard<AdminCaller> {
  return {
    challenge: 'Bearer',
    authenticate: async (request: AuthRequest) => {
      const token = bearerToken(request.header('authorization')[0] ?? '');
      if (token !== undefined && tokens?.find(token) !== undefined)
        return { actor: `admin:${sha256(token).toString('hex').slice(0, 8)}`, role: 'operator' };
      const person = token === undefined ? undefined : await findPerson?.(token);
      if (person === undefined) throw new AppError('UNAUTHENTICATED', 'No such token.');
      return person;
    },
    permits: ({ role }) => role === 'operator',
    charge: async () => {
      throw new Error('Admin routes are not charged.');
    },
    failedAuthentication,
  };
}
