import type { WatchedSite } from './site.ts';

/** Requests to the console of a person who is signed in, as its pages send them. */
export type AsPerson = (method: string, path: string, how?: PersonAsking) => Promise<Response>;

interface PersonAsking {
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Signs an operator in at the console, by the redirects that a browser follows. */
export async function signIn(site: WatchedSite): Promise<AsPerson> {
  const { origin } = site.pods.console.process.public;
  const open = (path: string, cookies: string): Promise<Response> =>
    fetch(new URL(path, origin), { redirect: 'manual', headers: { cookie: cookies } });
  const asked = await open('/sign-in?returnTo=/', '');
  const request = new URL(asked.headers.get('location') ?? '').searchParams;
  site.provider.expectNonce(request.get('nonce') ?? '');
  const back = new URLSearchParams({ code: 'once', state: request.get('state') ?? '', iss: site.provider.issuer });
  const cookies = cookiesOf(await open(`/signed-in?${back}`, cookiesOf(asked)));
  return (method, path, { body, headers = {} } = {}) =>
    fetch(new URL(path, origin), {
      method,
      headers: {
        ...{ cookie: cookies, origin, 'X-Sealgate-Console': '1' },
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

const cookiesOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
