import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@sealgate/errors';
import { closedObject, routeFor, type Method, type Route } from '@sealgate/http';
import { activeSpan, inSpan } from '@sealgate/observability';
import type { Cookies } from '../domain/cookies.ts';
import { requireOwnOrigin, type OriginRequest } from '../domain/own-origin.ts';
import type { Session } from '../domain/session.ts';
import type { Holder } from '../domain/slots.ts';
import { keyHeader, type Audience, type Listener, type Surface, type SurfaceId } from '../domain/surfaces.ts';
import type { ConsoleCaller } from '../session-guard.ts';
import { SurfaceName } from './session.ts';

const route = routeFor<ConsoleCaller>();

type Header = readonly [name: string, value: string];

export interface ForwardPorts {
  readonly cookies: Cookies;
  readonly surfaces: readonly Surface[];
  readonly publicUrl: string;
  /** @throws AppError RATE_LIMITED, OVERLOADED */
  takeSlot(surface: SurfaceId, holder: Holder): () => void;
  /** Enters a passage that `cut` ends if its session does; returns its removal. */
  openPassage(passage: { readonly session: Session; readonly cut: () => void }): () => void;
  /** Resolves once the response head is written; `settled` never rejects. @throws AppError before that. */
  forward(passage: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly surface: SurfaceId;
    readonly baseUrl: string;
    readonly target: string;
    readonly headers: readonly Header[];
  }): Promise<{ readonly settled: Promise<void> }>;
  /** @throws AppError UNAUTHENTICATED, UNAVAILABLE */
  tokenFor(session: Session, audience: Audience): Promise<{ readonly token: string; readonly session: Session }>;
  /** Why a listener cannot be reached; undefined if it can. Never rejects. */
  problemOf(listener: Listener): Promise<string | undefined>;
  /** The session with the newest refresh token known here. */
  currentSession(session: Session): Session;
}

/** The part of a raw handler's context used here. */
interface Forwarded extends OriginRequest {
  readonly params: { readonly surface: SurfaceId };
  readonly caller: ConsoleCaller;
  readonly path: string;
  readonly requestId: string;
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
  readonly clientAddress: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

type Side = 'api' | 'admin';

const METHODS: readonly Method[] = ['get', 'post', 'put', 'patch', 'delete'];
const SIDES = {
  api: { operation: 'Api', summary: 'Forwarded to the public listener of the surface' },
  admin: { operation: 'Admin', summary: 'Forwarded to the admin listener of the surface' },
} as const;

/**
 * `/api/<surface>/...` and `/admin/<surface>/...`: forwarded with the token of the signed-in person, or with the typed
 * key, and no other credential. The response is forwarded unchanged.
 */
export function forwardRoutes(ports: ForwardPorts): Route<ConsoleCaller>[] {
  const listeners = new Map(ports.surfaces.map((surface) => [surface.id, surface]));
  const handle = (side: Side) => async (context: Forwarded) => {
    const { surface } = context.params;
    requireOwnOrigin(context, ports.publicUrl);
    const listener = listeners.get(surface)?.[side];
    if (listener === undefined) throw new AppError('NOT_FOUND', 'This surface is not configured.');
    const { request, response } = context;
    const path = forwardedPath(context.path, `/${side}/${surface}`);
    const { url = '' } = request;
    const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
    const start = {
      name: context.method,
      kind: 'client',
      attributes: { 'http.request.method': context.method },
    } as const;
    // Held from here until the last byte, whatever happens in between.
    const { session } = context.caller;
    const releaseSlot = ports.takeSlot(surface, session ?? { address: context.clientAddress });
    const state = { isEnded: false, isSent: false };
    const cut = () => {
      state.isEnded = true;
      // Between its sending and the head of its response nobody knows whether a change was made.
      if (response.headersSent || (state.isSent && isRead(context.method))) response.destroy();
    };
    const close = session === undefined ? undefined : ports.openPassage({ session, cut });
    const release = () => {
      close?.();
      releaseSlot();
    };
    try {
      const credential = await credentialOf(ports, context, listener);
      if (state.isEnded) throw new AppError('UNAUTHENTICATED', 'This session has ended.');
      state.isSent = true;
      const { settled } = await inSpan(start, () => {
        const headers = [...credential, ...aboutRequest(context, ports.publicUrl)];
        return ports.forward({ request, response, surface, baseUrl: listener.url, target: path + query, headers });
      });
      void settled.then(release);
    } catch (error) {
      release();
      throw error;
    }
  };
  return (Object.keys(SIDES) as Side[]).flatMap((side) =>
    METHODS.map((method) =>
      route({
        method,
        path: `/${side}/:surface/*rest`,
        operationId: `${method}${SIDES[side].operation}`,
        summary: SIDES[side].summary,
        permit: 'authenticated',
        charge: 'none',
        idempotency: 'none',
        params: closedObject({ surface: SurfaceName }),
        query: 'ignored',
        requestHeaders: { 'X-Sealgate-Console': '`1`: required for changes.' },
        responses: { 200: { description: 'The response of the surface, with any status.' } },
        errors: [
          'FORBIDDEN',
          'ORIGIN_NOT_ALLOWED',
          'PAYLOAD_TOO_LARGE',
          'OVERLOADED',
          'OUTCOME_UNKNOWN',
          'UNAVAILABLE',
        ],
        raw: true,
        handler: (context) => handle(side)(context as Forwarded),
      }),
    ),
  );
}

/**
 * The typed key if there is one, else the token of the signed-in person if the listener has an audience. Without either
 * only reads are forwarded: a surface that is open to everybody in its network must not become writable for whoever may
 * sign in.
 * @throws AppError FORBIDDEN for a change without a credential, UNAVAILABLE if the listener is out of reach.
 */
async function credentialOf(
  { cookies, tokenFor, currentSession, problemOf }: ForwardPorts,
  { caller: { session, key }, params: { surface }, response, method }: Forwarded,
  listener: Listener,
): Promise<Header[]> {
  const { audience } = listener;
  if (key !== undefined) return [[...keyHeader(surface, key)]];
  if (session === undefined || audience === undefined) {
    if (isRead(method)) return [];
    // Not for strangers, who are refused whatever is out of reach.
    if (session !== undefined && (await problemOf(listener)) !== undefined)
      throw new AppError('UNAVAILABLE', 'This service is unreachable or did not respond in time: nothing was changed.');
    throw new AppError('FORBIDDEN', 'This listener accepts no sign-in: nothing is changed there through the console.');
  }
  const { token } = await tokenFor(session, audience);
  const now = currentSession(session);
  // The request's cookie has an outdated refresh token.
  if (now.renewals !== session.renewals) response.appendHeader('Set-Cookie', cookies.keepSession(now));
  return [['Authorization', `Bearer ${token}`]];
}

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** Lets surfaces that trust the console count failures by the client's address. */
const aboutRequest = (
  { requestId, traceparent, tracestate, clientAddress }: Forwarded,
  publicUrl: string,
): Header[] => [
  ['X-Request-Id', requestId],
  ['traceparent', activeSpan()?.traceparent ?? traceparent],
  ...(tracestate === undefined ? [] : [['tracestate', tracestate] as const]),
  ['X-Forwarded-For', clientAddress],
  ['X-Forwarded-Proto', new URL(publicUrl).protocol.slice(0, -1)],
];

/** Characters that Node refuses to send and that browsers never leave in a path. */
const PLAIN = /^\/[\x21\x23-\x3b\x3d\x3f-\x5b\x5d-\x7e]*$/;

/**
 * The path after the prefix, exactly as sent, so that ids with encoded characters are preserved. Anything that an
 * intermediary could read as a step upwards is refused, however it is encoded.
 * @throws AppError NOT_FOUND
 */
function forwardedPath(path: string, prefix: string): string {
  const rest = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : '';
  if (!PLAIN.test(rest) || rest.includes('?') || rest.slice(1).split('/').some(isMisleading))
    throw new AppError('NOT_FOUND', 'There is nothing at this path.');
  return rest;
}

/** Decoded twice, as a proxy in front of the surface may decode once too often. */
function isMisleading(segment: string): boolean {
  if (segment === '') return true;
  const once = decoded(segment);
  const twice = once === undefined ? undefined : (decoded(once) ?? once);
  return once === undefined || [once, twice].some((text) => text?.split(/[/\\;]/).some((part) => isDots(part)) ?? true);
}

const isDots = (part: string): boolean => part === '.' || part === '..';

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // Malformed: decodeURIComponent has no other failure.
  }
}
