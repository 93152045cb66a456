import { Type, type Static } from '@sinclair/typebox';
import { adminRoute, type AdminCaller } from './admin-app.ts';
import { asked } from './admin-ledger-loss.ts';
import { adminAuditRoutes, type AdminAuditPorts } from './admin-audit.ts';
import { adminSecretRoutes, type AdminSecretPorts } from './admin-secrets.ts';
import { enumOf, named } from './named-schema.ts';
import { instantText } from './parameters.ts';
import type { Route } from './route.ts';

const Text = Type.String();

const Whoami = named(
  'AdminWhoami',
  Type.Object({
    actor: Type.String({ description: 'As audit events name the caller.' }),
    role: enumOf('AdminRole', ['operator', 'viewer'], {
      description: 'An operator may do everything here, a viewer reads.',
    }),
    via: enumOf('AdminVia', ['token', 'static'], {
      description: 'By an access token of somebody who signed in, or by a token of ADMIN_TOKEN_HASHES.',
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
          oldestAt: Type.Union([instantText(), Type.Null()], {
            description: 'Since when the oldest of it waits; null where nothing does, or that is not known.',
          }),
        }),
      ),
    ),
  }),
);

/** One kind of work that is not done yet. */
export interface WaitingItem {
  /** A word of a closed set of the surface. */
  readonly what: string;
  /** For people. */
  readonly description: string;
  readonly count: number;
  readonly oldestAt: Date | undefined;
}

export interface AdminStatePorts extends AdminSecretPorts, AdminAuditPorts {
  /** What waits in this surface. Bounded in time; rejects where the database is away. */
  readonly waiting: () => Promise<readonly WaitingItem[]>;
}

const base = { method: 'get', charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;

/** What the admin listener of any surface tells of itself and of who asks. */
export function adminStateRoutes(ports: AdminStatePorts): Route<AdminCaller>[] {
  const whoami = adminRoute({
    ...base,
    path: '/admin/v1/whoami',
    operationId: 'getWhoami',
    summary: 'Who asks, and what they may do here',
    responses: { 200: { description: 'The caller.', schema: Whoami } },
    errors: [],
    handler: ({ caller }) => Promise.resolve({ status: 200, body: whoamiOf(caller) }),
  });
  const waiting = adminRoute({
    ...base,
    path: '/admin/v1/waiting',
    operationId: 'getWaiting',
    summary: 'What is not done yet, and since when',
    responses: { 200: { description: 'Each kind of work, also where there is none of it.', schema: Waiting } },
    errors: ['LEDGER_UNAVAILABLE'],
    async handler() {
      const items = (await asked(ports.waiting())).map(({ what, description, count, oldestAt }) => ({
        what,
        description,
        count,
        oldestAt: oldestAt?.toISOString() ?? null,
      }));
      return { status: 200, body: { items } satisfies Static<typeof Waiting> };
    },
  });
  return [whoami, waiting, ...adminAuditRoutes(ports), ...adminSecretRoutes(ports)];
}

function whoamiOf({ actor, role, identity }: AdminCaller): Static<typeof Whoami> {
  return { actor, role, via: identity === undefined ? 'static' : 'token', ...identity };
}
