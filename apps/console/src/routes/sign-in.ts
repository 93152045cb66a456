import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { AppError, problemOf } from '@sealgate/errors';
import { closedObject, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { AccessToken } from '../domain/access-tokens.ts';
import type { Cookies } from '../domain/cookies.ts';
import type { Session } from '../domain/session.ts';
import type { Audience } from '../domain/surfaces.ts';
import { checkedReturnTo, type SignInFlow } from '../domain/sign-in.ts';
import type { ConsoleCaller } from '../session-guard.ts';

const route = routeFor<ConsoleCaller>();

export type SignInOutcome = 'signed_in' | 'refused' | 'provider_away';

export interface SignInPorts {
  readonly cookies: Cookies;
  readonly publicUrl: string;
  readonly flow: SignInFlow;
  /** Caches the token, if there is one for an audience. */
  remember(session: Session, audience: Audience | undefined, token: AccessToken): void;
  /** @throws AppError RATE_LIMITED, OVERLOADED */
  takeSignInSlot(address: string): () => void;
  readonly onOutcome: (outcome: SignInOutcome) => void;
}

/** The part of a raw handler's context used here. */
interface Navigation {
  readonly request: { readonly url?: string | undefined };
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly clientAddress: string;
  header(name: string): string | undefined;
}

const open = { permit: 'open', charge: 'none', idempotency: 'none', raw: true } as const;

/** The redirects to the provider and back. A browser navigates to both, so errors are HTML pages. */
export function signInRoutes(ports: SignInPorts): Route<ConsoleCaller>[] {
  const { cookies, publicUrl, flow, remember, takeSignInSlot, onOutcome } = ports;
  const begin = async (context: Navigation, returnTo: string): Promise<void> => {
    const { location, pending } = await flow.begin(checkedReturnTo(returnTo, publicUrl));
    redirect(context.response, location, cookies.keepPending(pending, [context.header('cookie') ?? '']));
  };
  const finish = async (context: Navigation): Promise<void> => {
    const callback = new URL(context.request.url ?? '/', `${publicUrl}/`);
    const state = callback.searchParams.get('state') ?? '';
    const pending = cookies.pending([context.header('cookie') ?? ''], state);
    if (pending === undefined) throw notBegunHere();
    const { session, audience, token } = await flow.finish(callback, pending);
    remember(session, audience, token);
    onOutcome('signed_in');
    redirect(context.response, pending.returnTo, [cookies.forgetPending(state), cookies.keepSession(session)]);
  };
  const asPage = async (context: Navigation, work: () => Promise<void>): Promise<void> => {
    let release: (() => void) | undefined;
    try {
      release = takeSignInSlot(context.clientAddress);
      await work();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      onOutcome(error.status >= 500 ? 'provider_away' : 'refused');
      if (!(context.header('accept') ?? '').includes('text/html')) throw error;
      refusalPage(context.response, error, context.requestId);
    } finally {
      release?.();
    }
  };
  return [
    route({
      ...open,
      method: 'get',
      path: '/sign-in',
      operationId: 'signIn',
      summary: 'Redirect the browser to the identity provider',
      query: closedObject({
        returnTo: Type.Optional(Type.String({ description: 'A path of the console. Default: `/`.' })),
      }),
      responses: { 303: { description: 'Redirect to the provider.', headers: { Location: 'The authorization URL.' } } },
      errors: ['INVALID_REQUEST', 'UNAVAILABLE', 'OVERLOADED', 'RATE_LIMITED'],
      handler: (context) => asPage(context, () => begin(context, context.query.returnTo ?? '/')),
    }),
    route({
      ...open,
      method: 'get',
      path: '/signed-in',
      operationId: 'signedIn',
      summary: 'The redirect URI for the identity provider',
      query: 'ignored',
      responses: {
        303: {
          description: 'Signed in; redirect to the original page.',
          headers: { Location: 'The path of that page.' },
        },
      },
      errors: ['INVALID_REQUEST', 'FORBIDDEN', 'UNAVAILABLE', 'OVERLOADED', 'RATE_LIMITED'],
      handler: (context) => asPage(context, () => finish(context)),
    }),
  ];
}

function redirect(response: ServerResponse, location: string, cookies: readonly string[]): void {
  response.setHeader('Set-Cookie', cookies);
  // The URL contains the code: send no Referer to linked pages.
  response.writeHead(303, { Location: location, 'Referrer-Policy': 'no-referrer', 'Content-Length': '0' }).end();
}

const notBegunHere = (): AppError =>
  new AppError('INVALID_REQUEST', 'This sign-in was not started in this browser, or has ended. Start again.');

const STYLE =
  ':root{color-scheme:light dark;background:light-dark(#fff,#14181c);color:light-dark(#14181c,#f4f6f8)}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto 0;padding:0 1rem}' +
  'code{overflow-wrap:anywhere}a{color:light-dark(#1a4fc4,#9dbcff)}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** A problem as an HTML page, for browser navigations without a console page open. */
function refusalPage(response: ServerResponse, error: AppError, requestId: string): void {
  const { title, detail, status, code } = problemOf(error, requestId);
  const retry = error.retryAfterSeconds === undefined ? {} : { 'Retry-After': String(error.retryAfterSeconds) };
  const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escaped(title)}</h1><p>${escaped(detail ?? '')}</p>
<p><a href="/sign-in">Sign in again</a> · <a href="/">Back to the console</a></p>
<p><small>${escaped(code ?? '')} · request <code>${escaped(requestId)}</code></small></p></main></body></html>
`;
  response.writeHead(status, {
    ...retry,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': POLICY,
    'Referrer-Policy': 'no-referrer',
  });
  response.end(page);
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
