import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type Adapter, type AdapterPayload, type JWK, type KoaContextWithOIDC } from 'oidc-provider';

/** A real provider that signs in everybody without interaction. */
export interface TestProvider {
  readonly issuer: string;
  /** The requested paths, in order. */
  readonly asked: string[];
  /** `sub` of the next sign-in. */
  subject: string;
  /** Subjects that it no longer knows. */
  readonly removed: Set<string>;
  /** Handles the request instead if it returns true. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  stop(): Promise<void>;
}

export const CLIENT = { id: 'console', secret: 'a-secret-of-the-console' } as const;

export async function testProvider({
  publicUrl,
  audiences,
  accessTokenSeconds = 600,
  scopes = {},
  introspects = true,
}: {
  readonly publicUrl: string;
  readonly audiences: readonly string[];
  readonly accessTokenSeconds?: number;
  /** Whether it has an introspection endpoint. */
  readonly introspects?: boolean;
  /** Audiences by scope: then `resource` is refused, as by providers that know only scopes. */
  readonly scopes?: Readonly<Record<string, string>>;
}) {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: Provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${publicUrl}/signed-in`],
        post_logout_redirect_uris: [`${publicUrl}/`],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    jwks: { keys: [signingKey()] },
    adapter: MemoryAdapter,
    cookies: { keys: ['a-key-for-cookies'] },
    pkce: { required: () => true },
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
    conformIdTokenClaims: false,
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: introspects, allowedPolicy: () => Promise.resolve(true) },
      revocation: { enabled: true, allowedPolicy: () => Promise.resolve(true) },
      resourceIndicators: {
        enabled: true,
        defaultResource: (context, _client, oneOf) => {
          const asked = String(context.oidc.params?.['scope'] ?? '').split(' ');
          const found = Object.keys(scopes).filter((scope) => asked.includes(scope));
          const resources = found.map((scope) => scopes[scope]!);
          return oneOf === undefined ? resources : (resources[0] ?? [oneOf].flat()[0]!);
        },
        getResourceServerInfo: (_context, resource) => {
          if (!audiences.includes(resource)) throw new Error('There is no such resource.');
          const scope = Object.keys(scopes).find((one) => scopes[one] === resource) ?? 'openid profile email';
          return { scope, accessTokenFormat: 'jwt', accessTokenTTL: accessTokenSeconds };
        },
        useGrantedResource: () => true,
      },
    },
    ttl: { AccessToken: 600, Grant: 86_400, IdToken: 600, Interaction: 600, RefreshToken: 86_400, Session: 86_400 },
    rotateRefreshToken: true,
    issueRefreshToken: () => Promise.resolve(true),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, subject) =>
      state.removed.has(subject)
        ? undefined
        : { accountId: subject, claims: () => ({ sub: subject, name: 'Ada', email: `${subject}@example.com` }) },
    loadExistingGrant: (context) => grantAll(context),
  });
  const grantAll = async (context: KoaContextWithOIDC) => {
    const { client, session } = context.oidc;
    const known = session!.grantIdFor(client!.clientId);
    if (known !== undefined) return provider.Grant.find(known);
    const grant = new provider.Grant({ clientId: client!.clientId, accountId: session!.accountId! });
    grant.addOIDCScope('openid profile email offline_access');
    for (const audience of audiences)
      grant.addResourceScope(audience, ['openid profile email', ...Object.keys(scopes)].join(' '));
    await grant.save();
    return grant;
  };
  const state: TestProvider = {
    issuer,
    asked: [],
    subject: 'ada',
    removed: new Set(),
    instead: undefined,
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  const callback = provider.callback();
  handle = (request, response) => {
    const path = new URL(request.url ?? '/', issuer).pathname;
    state.asked.push(path);
    if (state.instead?.(request, response) === true) return;
    if (!path.startsWith('/interaction/')) return void callback(request, response);
    void provider.interactionFinished(request, response, { login: { accountId: state.subject } });
  };
  return state;
}

const signingKey = (): JWK => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'one' };
};

/** The provider's in-memory store; the provider makes the ids. */
class MemoryAdapter implements Adapter {
  static readonly #kept = new Map<string, AdapterPayload>();
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    MemoryAdapter.#kept.set(`${this.#name} ${id}`, payload);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return MemoryAdapter.#kept.get(`${this.#name} ${id}`);
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return [...MemoryAdapter.#kept.values()].find((payload) => payload.uid === uid);
  }

  findByUserCode = () => Promise.resolve(undefined);

  async consume(id: string): Promise<void> {
    Object.assign(MemoryAdapter.#kept.get(`${this.#name} ${id}`) ?? {}, { consumed: 1 });
  }

  async destroy(id: string): Promise<void> {
    MemoryAdapter.#kept.delete(`${this.#name} ${id}`);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, payload] of MemoryAdapter.#kept) if (payload.grantId === grantId) MemoryAdapter.#kept.delete(key);
  }
}
