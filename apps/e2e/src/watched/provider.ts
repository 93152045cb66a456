import type { ServerResponse } from 'node:http';
import { testIssuer } from '@sealgate/testing';

/** Of the access tokens of people; operators may do everything on admin listeners. */
export const [AUDIENCE, OPERATORS, CONSOLE_CLIENT] = ['https://watched.test', 'operators', 'console'];

/** An OpenID Connect provider at which one operator has an account, and is always signed in. */
export interface Provider {
  readonly issuer: string;
  /** The nonce of the sign-in that is under way. */
  expectNonce(nonce: string): void;
  stop(): Promise<void>;
}

const SUBJECT = 'operator-1';

/** Answers any code and any refresh with tokens of the operator. */
export async function startProvider(): Promise<Provider> {
  const tokensBy = await testIssuer({ audience: AUDIENCE, now: Date.now });
  await tokensBy.turnKeys({ alg: 'RS256' });
  const { issuer } = tokensBy;
  let nonce = '';
  const configuration = {
    ...{ issuer, jwks_uri: `${issuer}/jwks`, token_endpoint: `${issuer}/token` },
    authorization_endpoint: `${issuer}/authorize`,
    response_types_supported: ['code'],
    authorization_response_iss_parameter_supported: true,
  };
  const tokens = async (): Promise<object> => ({
    access_token: await tokensBy.token({ sub: SUBJECT, groups: [OPERATORS] }),
    id_token: await tokensBy.token({ sub: SUBJECT, aud: CONSOLE_CLIENT, nonce }, { typ: 'JWT' }),
    ...{ token_type: 'Bearer', expires_in: 600, refresh_token: 'refresh' },
  });
  const reply = (response: ServerResponse, document: object): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  };
  tokensBy.answerWith((response, url) => {
    if (url === '/token') void tokens().then((made) => reply(response, made));
    else reply(response, url === '/jwks' ? { keys: tokensBy.published } : configuration);
  });
  return { issuer, expectNonce: (given) => void (nonce = given), stop: () => tokensBy.stop() };
}
