import { AppError } from '@sealgate/errors';
import { closedObject, enumOf, named, orNull, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { SurfaceRights } from '../domain/listener-access.ts';
import { requireOwnOrigin } from '../domain/own-origin.ts';
import type { Session } from '../domain/session.ts';
import type { ConsoleCaller } from '../session-guard.ts';
import { SurfaceName } from './session.ts';

const route = routeFor<ConsoleCaller>();
const Texts = Type.Array(Type.String());
const NOT_THEIRS = { description: 'null: not theirs, or not known.' };

const AdminRightsView = named('AdminRights', closedObject({ roles: Texts, permissions: Texts }));
const PersonRightsView = named(
  'PersonRights',
  closedObject({
    isPartner: Type.Boolean({ description: 'May read the partner API alone.' }),
    organizations: Type.Array(
      named(
        'OrganizationRights',
        closedObject({
          id: Type.String(),
          name: Type.String(),
          member: orNull(
            named(
              'MemberRights',
              closedObject({
                personId: Type.String(),
                roles: Texts,
                permissions: Texts,
                scope: closedObject({
                  departments: Texts,
                  canReadSensitive: Type.Boolean(),
                  unrestricted: Type.Boolean(),
                }),
              }),
            ),
            { description: 'null: the organisation invited them.' },
          ),
        }),
      ),
    ),
  }),
);

const Mine = named(
  'Mine',
  closedObject({
    surfaces: Type.Array(
      named(
        'SurfaceRights',
        closedObject({
          id: SurfaceName,
          admin: orNull(AdminRightsView, NOT_THEIRS),
          api: orNull(PersonRightsView, NOT_THEIRS),
          unknown: Type.Array(enumOf('ListenerName', ['admin', 'api']), {
            description: 'The listeners that cannot be asked at the moment.',
          }),
        }),
      ),
    ),
  }),
);

export interface MinePorts {
  readonly publicUrl: string;
  /** @throws AppError UNAUTHENTICATED, UNAVAILABLE, RATE_LIMITED, OVERLOADED */
  rightsOf(session: Session): Promise<readonly SurfaceRights[]>;
}

/** What the signed-in person may do at each surface, for menus and start pages; the surfaces enforce it. */
export function mineRoutes({ publicUrl, rightsOf }: MinePorts): Route<ConsoleCaller>[] {
  return [
    route({
      method: 'get',
      path: '/mine',
      operationId: 'readMine',
      summary: 'What the signed-in person may do at each surface, as told by `whoami` of its listeners',
      description:
        'Kept for 10 seconds. It decides what pages offer; the surfaces enforce permissions. A listener that cannot be asked is as it answered last, for up to ten minutes.',
      permit: 'authenticated',
      charge: 'none',
      idempotency: 'none',
      responses: { 200: { description: 'Every configured surface.', schema: Mine } },
      errors: ['ORIGIN_NOT_ALLOWED', 'OVERLOADED'],
      async handler(context) {
        requireOwnOrigin(context, publicUrl);
        const { session } = context.caller;
        // Keys are accepted on the door's path alone.
        if (session === undefined) throw new AppError('UNAUTHENTICATED', 'Not signed in.');
        const surfaces = (await rightsOf(session)).map(viewOf);
        return { status: 200, body: { surfaces } };
      },
    }),
  ];
}

const viewOf = ({ id, admin, api }: SurfaceRights) => ({
  id,
  admin: admin || null,
  api: api || null,
  unknown: [...(admin === undefined ? ['admin'] : []), ...(api === undefined ? ['api'] : [])],
});
