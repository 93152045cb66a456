import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';

/** An OpenID Connect provider as seen by services: discovery document, keys, and signed tokens. */
export interface TestIssuer {
  readonly issuer: string;
  /** Number of requests for its keys. */
  readonly keyRequests: number;
  /** A token issued now, valid for ten minutes; `claims` override the defaults, undefined ones are omitted. */
  token(claims?: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Rotates the signing key; `keep` leaves the old one published. */
  turnKeys(options?: { readonly keep?: boolean; readonly alg?: string }): Promise<void>;
  /** Replaces its responses; undefined restores its documents. */
  answerWith(answer: ((response: ServerResponse, url: string) => void) | undefined): void;
  /** Publishes these keys instead of its own. */
  publish(keys: readonly JWK[]): void;
  readonly published: readonly JWK[];
  stop(): Promise<void>;
}

const LIFETIME_SECONDS = 600;

export async function testIssuer({
  audience,
  now,
}: {
  readonly audience: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}): Promise<TestIssuer> {
  let signing: { key: CryptoKey; kid: string; alg: string };
  let published: JWK[] = [];
  let made = 0;
  let keyRequests = 0;
  let answer: ((response: ServerResponse, url: string) => void) | undefined;
  const turnKeys: TestIssuer['turnKeys'] = async ({ keep = false, alg = 'ES256' } = {}) => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${(made += 1)}`;
    signing = { key: privateKey, kid, alg };
    published = [...(keep ? published : []), { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }];
  };
  await turnKeys();
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    if (url === '/jwks') keyRequests += 1;
    if (answer !== undefined) return answer(response, url);
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/jwks` },
      '/jwks': { keys: published },
    };
    const document = documents[url];
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    get keyRequests() {
      return keyRequests;
    },
    get published() {
      return published;
    },
    token(claims = {}, header = {}) {
      const seconds = Math.floor(now() / 1000);
      const usual = { iss: issuer, sub: 'somebody', aud: audience, iat: seconds, exp: seconds + LIFETIME_SECONDS };
      const protectedHeader = { alg: signing.alg, kid: signing.kid, typ: 'at+jwt', ...header };
      return new SignJWT({ ...usual, ...claims }).setProtectedHeader(protectedHeader).sign(signing.key);
    },
    turnKeys,
    answerWith: (given) => (answer = given),
    publish: (keys) => (published = [...keys]),
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
