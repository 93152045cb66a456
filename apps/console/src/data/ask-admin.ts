import { AppError } from '@sealgate/errors';
import type {
  AdminRights,
  AskAdmin,
  AskPerson,
  AskWaiting,
  OrganizationRights,
  WaitingItem,
} from '../domain/listener-access.ts';
import type { Session } from '../domain/session.ts';
import type { Audience, Listener } from '../domain/surfaces.ts';
import { boundedText } from './bounded-fetch.ts';

const DEADLINE_MS = 2_000;
const ANSWER_MAX_BYTES = 262_144;

/** What the person can bring about with many requests says nothing about the listener. */
const OWN_DOING: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'RATE_LIMITED', 'OVERLOADED']);

interface Ports {
  /** @throws AppError UNAUTHENTICATED, UNAVAILABLE, OVERLOADED, RATE_LIMITED */
  readonly tokenFor: (session: Session, audience: Audience) => Promise<{ readonly token: string }>;
}

/** Asks `whoami` of the admin listener with the person's token. Undefined: it did not answer, or the provider is away. */
export const askAdmin =
  ({ tokenFor }: Ports): AskAdmin =>
  async (session, { admin }) => {
    const told = await ask(tokenFor, session, [admin, '/admin/v1/whoami']);
    return typeof told === 'object' ? (told.status === 200 ? adminRightsOf(told.body) : false) : told;
  };

/** Asks an admin listener what waits there. Undefined: it did not say. */
export const askWaiting =
  ({ tokenFor }: Ports): AskWaiting =>
  async (session, { admin }) => {
    const told = await ask(tokenFor, session, [admin, '/admin/v1/waiting']);
    return typeof told === 'object' && told.status === 200 ? waitingOf(told.body) : undefined;
  };

/** Asks the risk partner for the organisations of the person. */
export const askPerson =
  ({ tokenFor }: Ports): AskPerson =>
  async (session, { api }) => {
    const told = await ask(tokenFor, session, [api, '/api/organizations']);
    if (typeof told !== 'object') return told;
    // A partner machine may read the partner API alone.
    if (told.status === 403) return { isPartner: true, organizations: [] };
    return told.status === 200 ? { isPartner: false, organizations: organizationsOf(told.body) } : false;
  };

/** Undefined if there is no answer, or that of a failure. */
async function ask(
  tokenFor: Ports['tokenFor'],
  session: Session,
  [listener, path]: readonly [Listener | undefined, string],
): Promise<{ readonly status: number; readonly body: unknown } | false | undefined> {
  if (listener?.audience === undefined) return false;
  try {
    const { token } = await tokenFor(session, listener.audience);
    const response = await fetch(`${listener.url}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    const text = await boundedText(response, ANSWER_MAX_BYTES);
    if (response.status === 429) throw new AppError('RATE_LIMITED', 'Too many of your requests at this surface.');
    if (response.status >= 500) return undefined;
    return { status: response.status, body: response.ok ? (JSON.parse(text) as unknown) : undefined };
  } catch (error) {
    if (error instanceof AppError && OWN_DOING.has(error.code)) throw error;
    return undefined; // A network error, a timeout, no JSON, or the provider is away: it is not known.
  }
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];

function adminRightsOf(body: unknown): AdminRights {
  const { roles, permissions } = membersOf(body);
  return { roles: textsOf(roles), permissions: textsOf(permissions) };
}

const organizationsOf = (value: unknown): OrganizationRights[] =>
  (Array.isArray(value) ? value : []).flatMap((one) => {
    const { id, name, member } = membersOf(one);
    return typeof id === 'string' && typeof name === 'string' ? [{ id, name, member: memberOf(member) }] : [];
  });

function memberOf(value: unknown): OrganizationRights['member'] {
  const { personId, roles, permissions, scope } = membersOf(value);
  if (typeof personId !== 'string') return null;
  const { departments, canReadSensitive, unrestricted } = membersOf(scope);
  return {
    personId,
    roles: textsOf(roles),
    permissions: textsOf(permissions),
    scope: {
      departments: textsOf(departments),
      canReadSensitive: canReadSensitive === true,
      unrestricted: unrestricted === true,
    },
  };
}

function waitingOf(body: unknown): WaitingItem[] {
  const { items } = membersOf(body);
  return (Array.isArray(items) ? items : []).flatMap((one) => {
    const { what, description, count, oldestAt } = membersOf(one);
    if (typeof what !== 'string' || typeof description !== 'string' || typeof count !== 'number') return [];
    return [{ what, description, count, oldestAt: typeof oldestAt === 'string' ? oldestAt : null }];
  });
}
