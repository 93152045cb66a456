import type { ServerResponse } from 'node:http';
import { AppError } from '@sealgate/errors';
import { closedObject, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { AccessToken } from '../domain/access-tokens.ts';
import type { Cookies } from '../domain/cookies.ts';
import { checkedReturnTo } from '../domain/return-to.ts';
import type { Session } from '../domain/session.ts';
import type { SignInFlow } from '../domain/sign-in.ts';
import type { ConsoleCaller } from '../session-guard.ts';
import { refusalPage } from './refusal-page.ts';

const route = routeFor<ConsoleCaller>();

export type SignInOutcome = 'signed_in' | 'refused' | 'provider_away';

export interface SignInPorts {
  readonly cookies: Cookies;
  readonly publicUrl: string;
  readonly flow: SignInFlow;
  remember(session: Session, audience: string, token: AccessToken): void;
  readonly onOutcome: (outcome: SignInOutcome) => void;
}

/** How a raw handler is asked: as much as these two look at. */
interface Navigation {
  readonly request: { readonly url?: string | undefined };
  readonly response: ServerResponse;
  readonly requestId: string;
  header(name: string): string | undefined;
}

const open = { permit: 'open', charge: 'none', idempotency: 'none', raw: true } as const;

/** The way to the provider and back. Both are followed by a browser, so their refusals are pages for people. */
export function signInRoutes(ports: SignInPorts): Route<ConsoleCaller>[] {
  const { cookies, publicUrl, flow, remember, onOutcome } = ports;
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
    if (audience !== undefined) remember(session, audience, token);
    onOutcome('signed_in');
    redirect(context.response, pending.returnTo, [cookies.forgetPending(state), cookies.keepSession(session)]);
  };
  const asPage = async (context: Navigation, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      onOutcome(error.status >= 500 ? 'provider_away' : 'refused');
      if (!(context.header('accept') ?? '').includes('text/html')) throw error;
      refusalPage(context.response, error, context.requestId);
    }
  };
  return [
    route({
      ...open,
      method: 'get',
      path: '/sign-in',
      operationId: 'signIn',
      summary: 'Lead the browser to the identity provider',
      query: closedObject({
        returnTo: Type.Optional(Type.String({ description: 'A path of the console. Default: `/`.' })),
      }),
      responses: { 303: { description: 'To the provider.', headers: { Location: 'Where to.' } } },
      errors: ['INVALID_REQUEST', 'UNAVAILABLE', 'OVERLOADED'],
      handler: (context) => asPage(context, () => begin(context, context.query.returnTo ?? '/')),
    }),
    route({
      ...open,
      method: 'get',
      path: '/signed-in',
      operationId: 'signedIn',
      summary: 'Where the identity provider leads the browser back to',
      query: 'ignored',
      responses: { 303: { description: 'Signed in; to where it began.', headers: { Location: 'Where to.' } } },
      errors: ['INVALID_REQUEST', 'FORBIDDEN', 'UNAVAILABLE', 'OVERLOADED'],
      handler: (context) => asPage(context, () => finish(context)),
    }),
  ];
}

function redirect(response: ServerResponse, location: string, cookies: readonly string[]): void {
  response.setHeader('Set-Cookie', cookies);
  // The address holds the code: nobody that is linked to from here is told.
  response.writeHead(303, { Location: location, 'Referrer-Policy': 'no-referrer', 'Content-Length': '0' }).end();
}

const notBegunHere = (): AppError =>
  new AppError('INVALID_REQUEST', 'This sign-in was not begun in this browser, or is over. Begin again.');
