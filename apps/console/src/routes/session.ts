import { closedObject, enumOf, instantText, named, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { requireOwnOrigin } from '../domain/own-origin.ts';
import type { Cookies } from '../domain/cookies.ts';
import type { Session } from '../domain/session.ts';
import { SURFACE_IDS, type Surface } from '../domain/surfaces.ts';
import type { ConsoleCaller } from '../session-guard.ts';

const route = routeFor<ConsoleCaller>();

export const SurfaceName = enumOf('SurfaceId', SURFACE_IDS);

const Person = named(
  'Person',
  closedObject({
    issuer: Type.String(),
    subject: Type.String(),
    name: Type.Optional(Type.String()),
    email: Type.Optional(Type.String()),
  }),
);

const SessionView = named(
  'Session',
  closedObject({
    person: Type.Union([Person, Type.Null()]),
    surfaces: Type.Array(
      closedObject({
        id: SurfaceName,
        api: Type.Boolean(),
        admin: Type.Boolean(),
        publicUrl: Type.Optional(
          Type.String({ description: 'URL of the public listener for others. Only for signed-in people.' }),
        ),
      }),
    ),
    expiresAt: Type.Optional(instantText()),
  }),
);

const SignedOut = named('SignedOut', closedObject({ endSessionUrl: Type.Optional(Type.String()) }));

export interface SessionPorts {
  readonly cookies: Cookies;
  readonly surfaces: readonly Surface[];
  readonly publicUrl: string;
  /** @throws AppError UNAVAILABLE, OVERLOADED, RATE_LIMITED if nobody can tell. */
  isLive(session: Session): Promise<boolean>;
  /** The session with the newest refresh token known here. */
  currentSession(session: Session): Session;
  /** Ends the session for all replicas and at the provider; returns the provider's end-session URL. Never rejects. */
  signOut(session: Session): Promise<string | undefined>;
}

/** The session: who is signed in, and signing out. */
export function sessionRoutes(ports: SessionPorts): Route<ConsoleCaller>[] {
  const { cookies, surfaces, publicUrl, isLive, currentSession, signOut } = ports;
  return [
    route({
      method: 'get',
      path: '/session',
      operationId: 'readSession',
      summary: 'The signed-in person and the configured surfaces',
      permit: 'open',
      charge: 'none',
      idempotency: 'none',
      responses: { 200: { description: '`person` is null if nobody is signed in.', schema: SessionView } },
      errors: ['ORIGIN_NOT_ALLOWED', 'UNAVAILABLE', 'OVERLOADED', 'RATE_LIMITED'],
      async handler(context) {
        requireOwnOrigin(context, publicUrl);
        const found = cookies.session([context.header('cookie') ?? '']);
        const session = found !== undefined && (await isLive(found)) ? currentSession(found) : undefined;
        const isNewer = session !== undefined && session.renewals !== found?.renewals;
        const offers = surfaces.map((surface) => offerOf(surface, session !== undefined));
        return {
          status: 200,
          body: { ...personOf(session), surfaces: offers },
          ...(isNewer && { headers: { 'Set-Cookie': cookies.keepSession(session) } }),
        };
      },
    }),
    route({
      method: 'post',
      path: '/sign-out',
      operationId: 'signOut',
      summary: 'Sign out, here and at the provider',
      description: 'The page then navigates to `endSessionUrl`, if the provider has one. Without a session: {}.',
      permit: 'open',
      charge: 'none',
      idempotency: 'none',
      requestHeaders: { 'X-Sealgate-Console': '`1`: required for changes.' },
      responses: { 200: { description: 'Signed out.', schema: SignedOut } },
      errors: ['ORIGIN_NOT_ALLOWED'],
      async handler(context) {
        requireOwnOrigin(context, publicUrl);
        const session = cookies.session([context.header('cookie') ?? '']);
        const endSessionUrl = session === undefined ? undefined : await signOut(session);
        const headers = { 'Set-Cookie': cookies.forgetSession() };
        return { status: 200, body: endSessionUrl === undefined ? {} : { endSessionUrl }, headers };
      },
    }),
  ];
}

function personOf(session: Session | undefined): object {
  if (session === undefined) return { person: null };
  const { issuer, subject, name, email, endsAtMs } = session;
  const person = { issuer, subject, ...(name !== undefined && { name }), ...(email !== undefined && { email }) };
  return { person, expiresAt: new Date(endsAtMs).toISOString() };
}

const offerOf = ({ id, api, admin, publicUrl }: Surface, isSignedIn: boolean) => ({
  id,
  api: api !== undefined,
  admin: admin !== undefined,
  ...(isSignedIn && publicUrl !== undefined && { publicUrl }),
});
