import { Type, type Static } from '@sinclair/typebox';
import { adminRoute, type AdminCaller } from './admin-app.ts';
import { named } from './named-schema.ts';
import { instantText } from './parameters.ts';
import type { Route } from './route.ts';

const Text = Type.String();
const Count = Type.Integer();
const Time = instantText();
const TimeOrNull = Type.Union([Time, Type.Null()]);

const Need = named(
  'SecretNeed',
  Type.Object({ what: Text, rows: Type.Union([Type.Integer(), Type.Null()]), until: TimeOrNull }),
);

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

export interface AdminSecretPorts {
  /** Which server secrets are in use, by whom and what for: see `secretWatch`. */
  readonly secretReport: () => Promise<ReadonlyDeep<Static<typeof SecretsReport>>>;
}

/** How far an exchange of secrets is, on the admin listener of any surface. Ids and times; never a value. */
export function adminSecretRoutes({ secretReport }: AdminSecretPorts): Route<AdminCaller>[] {
  return [
    adminRoute({
      charge: 'none',
      idempotency: 'none',
      permit: 'authenticated',
      method: 'get',
      path: '/admin/v1/secrets',
      operationId: 'getSecretStatus',
      summary:
        'Which server secrets the processes have, and what each is needed for and until when; which tokens and keys they accept',
      responses: {
        200: {
          description: 'Each secret by its id, each token or key by the first digits of its hash.',
          schema: SecretsReport,
        },
      },
      errors: ['UNAVAILABLE'],
      handler: async () => ({ status: 200, body: (await secretReport()) as Static<typeof SecretsReport> }),
    }),
  ];
}
