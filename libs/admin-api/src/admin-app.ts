import { bearerToken, type HashedSecrets } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import {
  type Admission,
  type App,
  type AppOptions,
  createApp,
  type AuthRequest,
  type Guard,
  type RequestNotes,
  type Route,
  routeFor,
} from '@sealgate/http';
import type { AdminRole } from '@sealgate/identity';
import { sha256 } from '@sealgate/json';
import { Type } from '@sinclair/typebox';

/** Maximum size of an admin request body. */
export const ADMIN_BODY_MAX_BYTES = 65_536;

/** The caller of an admin route: a holder of a static operator token, or a person who signed in. */
export interface AdminCaller {
  /**
   * Identifies the caller in the audit trail; not a credential. `admin:` and the first eight hex digits of a static
   * token's hash, or `oidc:<issuer>#<subject>`.
   */
  readonly actor: string;
  /** The strongest first; at least one. */
  readonly roles: readonly AdminRole[];
  /** Set for a person who signed in; undefined for a static token. */
  readonly identity?: { readonly issuer: string; readonly subject: string };
  /** Those of their access token; likewise. Never stored or logged. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** Access of most admin routes: any caller may read, and only operators may change. */
export const adminBase = { charge: 1, idempotency: 'none', permit: 'authenticated' } as const;

/** The permission of operators, for the few reads that viewers may not do. */
export const OPERATORS_ONLY = 'admin:change';
/** The permission of operators and viewers: what a read requires on a surface with further roles. */
const READERS_ONLY = 'admin:read';

/** What the routes of a surface with cases require. */
export const CASES = { read: 'cases:read', review: 'cases:review' } as const;
export const POLICIES = { read: 'policies:read', draft: 'policies:draft' } as const;

/** What each role may do. Operators may do everything. */
const PERMISSIONS: Readonly<Record<Exclude<AdminRole, 'operator'>, readonly string[]>> = {
  reviewer: [CASES.read, CASES.review, POLICIES.read],
  author: [POLICIES.read, POLICIES.draft],
  viewer: [READERS_ONLY, CASES.read, POLICIES.read],
};
const ALL = [OPERATORS_ONLY, READERS_ONLY, CASES.read, CASES.review, POLICIES.read, POLICIES.draft];

/** All permissions of these roles. */
export const adminPermissions = (roles: readonly AdminRole[]): readonly string[] =>
  ALL.filter((permission) => roles.some((role) => role === 'operator' || PERMISSIONS[role].includes(permission)));

export const WHOAMI_PATH = '/admin/v1/whoami';

/**
 * The routes of a surface that has roles besides operators and viewers: a read that names no permission is for those two.
 * Everybody may ask who they are.
 */
export const forReaders = (routes: readonly Route<AdminCaller>[]): Route<AdminCaller>[] =>
  routes.map((route) =>
    route.method === 'get' && route.permit === 'authenticated' && route.path !== WHOAMI_PATH
      ? { ...route, permit: READERS_ONLY }
      : route,
  );

const anyRoute = routeFor<AdminCaller>();

/** `route` of the admin listeners: every GET looks, and every other method requires the operator role. */
export const adminRoute: typeof anyRoute = (definition) => {
  const made = anyRoute(definition);
  if (made.method === 'get') return { looks: true, ...made };
  return made.permit === 'authenticated' ? { ...made, permit: OPERATORS_ONLY } : made;
};

/** Authentication of an admin listener. */
export interface AdminSignIn {
  /** Static tokens. If there are none and `findPerson` is absent, every path answers 404. */
  readonly tokens: HashedSecrets | undefined;
  /**
   * Finds the person behind an access token; where it grants no role here, the fields of the log line that say why.
   * Absent: access tokens are not accepted.
   */
  readonly findPerson?: ((token: string) => Promise<AdminCaller | { readonly refused: RequestNotes }>) | undefined;
  /** Charges an actor for a request. */
  readonly charge: (actor: string, cost: number) => Promise<Admission>;
}

export interface AdminAppOptions extends AdminSignIn, Omit<AppOptions<AdminCaller>, 'guard' | 'head'> {
  /** Limits failures per client address, in a bucket separate from the public listener's. */
  readonly failedAuthentication: NonNullable<Guard<AdminCaller>['failedAuthentication']>;
}

/**
 * Creates the app of an admin listener: `createApp` with the admin guard.
 * @throws Error when a route is not valid, or its `bodyMaxBytes` exceeds ADMIN_BODY_MAX_BYTES.
 */
export function adminApp(options: AdminAppOptions): App {
  const { tokens, findPerson, charge, failedAuthentication, routes, ...rest } = options;
  const large = routes.find(({ bodyMaxBytes }) => (bodyMaxBytes ?? 0) > ADMIN_BODY_MAX_BYTES);
  if (large !== undefined)
    throw new Error(`${large.operationId}: an admin body may hold ${ADMIN_BODY_MAX_BYTES} bytes.`);
  const isOpen = findPerson !== undefined || (tokens !== undefined && tokens.size > 0);
  return createApp<AdminCaller>({
    ...rest,
    routes: isOpen ? routes : [],
    guard: isOpen ? adminGuard({ tokens, findPerson, charge, failedAuthentication }) : undefined,
    head: false,
    compress: true,
  });
}

function adminGuard({
  tokens,
  findPerson,
  charge,
  failedAuthentication,
}: AdminSignIn & Pick<AdminAppOptions, 'failedAuthentication'>): Guard<AdminCaller> {
  return {
    challenge: 'Bearer',
    authenticate: async (request: AuthRequest) => {
      const token = bearerToken(request.header('authorization')[0] ?? '');
      if (token !== undefined && tokens?.find(token) !== undefined)
        return { actor: `admin:${sha256(token).toString('hex').slice(0, 8)}`, roles: ['operator'] };
      // A mistyped static token has no dot: it is not called a bad access token.
      const person = token?.includes('.') === true ? await findPerson?.(token) : undefined;
      if (person !== undefined && !('refused' in person)) return person;
      if (person !== undefined) request.note(person.refused);
      throw new AppError('UNAUTHENTICATED', 'No such token.');
    },
    permits: ({ roles }, permission) => adminPermissions(roles).includes(permission),
    charge: ({ actor }, cost) => charge(actor, cost),
    shareOf: ({ actor }) => actor,
    failedAuthentication,
  };
}

/** What these actors are called, of those of whom it is known, by actor. */
export type NamesOfActors = (actors: readonly string[]) => Promise<Readonly<Record<string, string>>>;

export const ActorNames = Type.Record(Type.String(), Type.String(), {
  description:
    'What the actors of this answer are called, for display: people as their newest access token said, keys by their label. Actors of whom nothing is known are absent.',
});

/** Writes an audit event about a record or a channel. */
export type AuditLedgerChange = (
  context: { readonly caller: AdminCaller; readonly requestId: string },
  change: {
    readonly action: string;
    readonly resource: string;
    readonly resourceId: string;
    readonly detail: Readonly<Record<string, string>>;
  },
) => Promise<void>;
