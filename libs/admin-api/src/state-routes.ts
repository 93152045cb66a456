import { type Route, enumOf, instantText, named, orNull } from '@sealgate/http';
import { ADMIN_ROLES } from '@sealgate/identity';
import { type Static, Type } from '@sinclair/typebox';
import { adminBase, type AdminCaller, adminPermissions, adminRoute, WHOAMI_PATH } from './admin-app.ts';
import { type AdminAuditPorts, adminAuditRoutes } from './audit-routes.ts';
import { ledgerCall } from './ledger-loss.ts';

const Text = Type.String();

const Role = enumOf('AdminRole', ADMIN_ROLES, {
  description:
    'An operator may do everything, a viewer may only read; on a surface with cases a reviewer decides them and an author drafts policies.',
});

const Whoami = named(
  'AdminWhoami',
  Type.Object({
    actor: Type.String({ description: 'The caller as named in audit events.' }),
    role: { ...Role, description: 'The strongest of `roles`.' },
    roles: Type.Array(Role, { description: 'The strongest first.' }),
    permissions: Type.Array(Text, {
      description:
        '`admin:change`: everything; `admin:read`: every read; `cases:read`, `cases:review` (attach, decide, seal), `policies:read` and `policies:draft` (create and change drafts, try them) on a surface with cases.',
    }),
    via: enumOf('AdminVia', ['token', 'static'], {
      description: '`token`: an access token of a signed-in person; `static`: a token of ADMIN_TOKEN_HASHES.',
    }),
    issuer: Type.Optional(Text),
    subject: Type.Optional(Text),
  }),
);

const Waiting = named(
  'WaitingWork',
  Type.Object({
    items: Type.Array(
      named(
        'WaitingItem',
        Type.Object({
          what: Text,
          description: Text,
          count: Type.Integer({ minimum: 0 }),
          oldestAt: orNull(instantText(), {
            description: 'Time since the oldest item waits; null if none does or it is not known.',
          }),
        }),
      ),
    ),
  }),
);

/** One kind of pending work. */
export interface WaitingItem {
  /** One of a closed set of names of the surface. */
  readonly what: string;
  readonly description: string;
  readonly count: number;
  readonly oldestAt: Date | undefined;
}

export interface AdminStatePorts extends AdminAuditPorts {
  /** Counts the pending work of this surface. Bounded in time; rejects if the database is unavailable. */
  readonly waiting: () => Promise<readonly WaitingItem[]>;
  /** Reports which processes use which server secrets and for what; see `secretWatch`. */
  readonly secretReport: () => Promise<ReadonlyDeep<Static<typeof SecretsReport>>>;
}

const base = { ...adminBase, method: 'get' } as const;

/** The routes that every admin listener has: whoami, pending work, audit events, secrets. */
export function adminStateRoutes(ports: AdminStatePorts): Route<AdminCaller>[] {
  const whoami = adminRoute({
    ...base,
    path: WHOAMI_PATH,
    operationId: 'getWhoami',
    summary: 'Get the caller, its roles, and what they may do',
    responses: { 200: { description: 'The caller.', schema: Whoami } },
    errors: [],
    handler: ({ caller }) => Promise.resolve({ status: 200, body: whoamiOf(caller) }),
  });
  const waiting = adminRoute({
    ...base,
    path: '/admin/v1/waiting',
    operationId: 'getWaiting',
    summary: 'List pending work and since when it waits',
    responses: { 200: { description: 'Every kind of work, including those with none pending.', schema: Waiting } },
    errors: ['LEDGER_UNAVAILABLE'],
    async handler() {
      const items = (await ledgerCall(ports.waiting())).map(({ what, description, count, oldestAt }) => ({
        what,
        description,
        count,
        oldestAt: oldestAt?.toISOString() ?? null,
      }));
      return { status: 200, body: { items } satisfies Static<typeof Waiting> };
    },
  });
  return [whoami, waiting, ...adminAuditRoutes(ports), secretsRoute(ports)];
}

function whoamiOf({ actor, roles, identity }: AdminCaller): Static<typeof Whoami> {
  // Somebody without a role is refused before.
  const role = roles[0]!;
  return {
    actor,
    role,
    roles: [...roles],
    permissions: [...adminPermissions(roles)],
    via: identity === undefined ? 'static' : 'token',
    ...identity,
  };
}

const Count = Type.Integer();
const Time = instantText();
const TimeOrNull = orNull(Time);

const Need = named('SecretNeed', Type.Object({ what: Text, rows: orNull(Type.Integer()), until: TimeOrNull }));

const SecretsReport = named(
  'SecretsReport',
  Type.Object({
    processes: Type.Array(named('SecretHolder', Type.Object({ process: Text, ids: Type.Array(Text), seenAt: Time }))),
    secrets: Type.Array(
      named(
        'ServerSecret',
        Type.Object({
          id: Text,
          makes: Count,
          checks: Count,
          unaware: Count,
          lastMadeAt: TimeOrNull,
          needs: Type.Array(Need),
        }),
      ),
    ),
    accepted: Type.Array(
      named(
        'AcceptedCredential',
        Type.Object({ variable: Text, id: Text, accepts: Count, unaware: Count, lastUsedAt: TimeOrNull }),
      ),
    ),
  }),
);

type ReadonlyDeep<Value> = Value extends object
  ? { readonly [Member in keyof Value]: ReadonlyDeep<Value[Member]> }
  : Value;

/** The route that shows the progress of a secret rotation. It shows ids and times, never a value. */
function secretsRoute({ secretReport }: Pick<AdminStatePorts, 'secretReport'>): Route<AdminCaller> {
  return adminRoute({
    ...base,
    path: '/admin/v1/secrets',
    operationId: 'getSecretStatus',
    summary:
      'List the server secrets that processes hold, what each is still needed for, and the accepted tokens and keys',
    responses: {
      200: {
        description: 'Secrets by id; tokens and keys by the first digits of their hash.',
        schema: SecretsReport,
      },
    },
    errors: ['UNAVAILABLE'],
    handler: async () => ({ status: 200, body: (await secretReport()) as Static<typeof SecretsReport> }),
  });
}
