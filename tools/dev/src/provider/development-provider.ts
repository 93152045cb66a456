import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { errors, type JWK, Provider } from 'oidc-provider';
import type { Secrets } from '../start/secrets.ts';
import { UserError } from '../start/user-error.ts';
import {
  CLI_CLIENT,
  DEMO_IDENTITIES,
  isLocalUrl,
  providerConfiguration,
  RESOURCE_SCOPE,
} from './provider-configuration.ts';
import { providerStore } from './provider-store.ts';
import { aboutPage, pageOf, pickPage, sendPage } from './sign-in-page.ts';

export interface DevelopmentProvider {
  readonly issuer: string;
  stop(): Promise<void>;
}

/** The secret's name of the console's client. */
export const CONSOLE_CLIENT_SECRET = 'provider.consoleClientSecret';

/**
 * An OpenID Connect provider on loopback in which anyone can sign in as any person of the demo. @throws UserError in
 * production.
 */
export async function startDevelopmentProvider(options: {
  readonly port: number;
  /** The allowed token audiences; the first is the default. */
  readonly audiences: readonly [string, ...string[]];
  /** The console's address, without a trailing slash. */
  readonly consoleUrl: string;
  /** Stores the signing key, so that tokens survive a restart. */
  readonly secrets: Secrets;
  /** Stores refresh tokens and registered clients. */
  readonly storeFile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly now: () => number;
  readonly tell: (line: string) => void;
}): Promise<DevelopmentProvider> {
  const { port, secrets, audiences, consoleUrl, storeFile, env, now, tell } = options;
  if (env['NODE_ENV'] === 'production')
    throw new UserError('The development provider has no authentication: it does not start with NODE_ENV=production.');
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    ...providerConfiguration({
      people: DEMO_IDENTITIES,
      audiences,
      defaultAudience: audiences[0],
      consoleClient: { url: consoleUrl, secret: secrets.secret(CONSOLE_CLIENT_SECRET) },
      signingKey: signingKey(secrets),
      cookieSecret: secrets.secret('provider.cookieSecret'),
    }),
    adapter: providerStore({ file: storeFile, now, tell }),
  });
  sendCliAnywhereOnLoopback(provider);
  provider.use(addScope);
  const server = createServer((request, response) => {
    answer(provider, {
      request,
      response,
      about: aboutPage({ Issuer: issuer, Client: CLI_CLIENT, Audiences: audiences.join(' ') }),
    }).catch((error: unknown) => refuse(response, error, tell));
  });
  await listen(server, port);
  return {
    issuer,
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

const signingKeyName = 'provider.signingKey';

function signingKey(secrets: Secrets): JWK {
  const known = secrets.recall(signingKeyName);
  if (known !== undefined) return JSON.parse(known) as JWK;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const made = {
    ...privateKey.export({ format: 'jwk' }),
    alg: 'ES256',
    use: 'sig',
    kid: secrets.secret('provider.kid'),
  };
  secrets.remember(signingKeyName, JSON.stringify(made));
  return made;
}

/** RFC 8252, section 7.3 lets the port vary; scripts choose their own path as well. */
function sendCliAnywhereOnLoopback({ Client }: Provider): void {
  const { redirectUriAllowed } = Client.prototype;
  Client.prototype.redirectUriAllowed = function (uri) {
    return (this.clientId === CLI_CLIENT && isLocalUrl(uri)) || redirectUriAllowed.call(this, uri);
  };
}

/** A request without scope gets the default one (RFC 6749, section 3.3): some clients of the tools send none. */
const addScope: Parameters<Provider['use']>[0] = (ctx, next) => {
  if (ctx.path === '/auth' && (ctx.query['scope'] ?? '') === '') ctx.query = { ...ctx.query, scope: RESOURCE_SCOPE };
  return next();
};

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', done);
  });
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly about: string;
}

async function answer(provider: Provider, { request, response, about }: Exchange): Promise<void> {
  // Prevents DNS rebinding: a page with another host name must not sign anyone in.
  if (request.headers.host !== new URL(provider.issuer).host)
    return sendPage(response, 421, pageOf('Another address', `<p>This is ${provider.issuer}.</p>`));
  const { pathname } = new URL(request.url ?? '/', provider.issuer);
  if (pathname === '/') return sendPage(response, 200, about);
  if (!pathname.startsWith('/sign-in/')) return provider.callback()(request, response);
  const { prompt, params } = await provider.interactionDetails(request, response);
  if (prompt.name === 'consent')
    return provider.interactionFinished(request, response, { consent: {} }, { mergeWithLastSubmission: true });
  const picked = request.method === 'POST' ? await pickedIn(request) : undefined;
  if (picked === undefined) {
    const client = await provider.Client.find(String(params['client_id']));
    return sendPage(response, 200, pickPage(client?.clientName ?? client?.clientId ?? 'A client', DEMO_IDENTITIES));
  }
  await provider.interactionFinished(request, response, { login: { accountId: picked }, consent: {} });
}

const FORM_MAX_BYTES = 1024;

/** The selected person; undefined if unknown. */
async function pickedIn(request: IncomingMessage): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? Infinity) > FORM_MAX_BYTES) return undefined;
  const subject = new URLSearchParams(await text(request)).get('subject');
  return DEMO_IDENTITIES.find((person) => person.subject === subject)?.subject;
}

function refuse(response: ServerResponse, error: unknown, tell: (line: string) => void): void {
  const isOver = error instanceof errors.SessionNotFound;
  const said = isOver
    ? 'This sign-in has expired, or was started in another browser. Start again in the application.'
    : 'It failed.';
  if (response.headersSent) response.destroy();
  else sendPage(response, isOver ? 400 : 500, pageOf('This sign-in cannot continue', `<p>${said}</p>`));
  if (!isOver) tell(`The development provider failed: ${String(error)}`);
}
