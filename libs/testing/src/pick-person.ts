const MAX_STEPS = 10;

/**
 * Acts as the browser at the development provider's sign-in page: follows redirects with cookies and picks a person.
 * @param authorizationUrl the authorization request of the client.
 * @param subject `sub` of the person to pick.
 * @returns the final redirect: the client's redirect URI with a code or an error.
 * @throws Error for any other page, with its status and text.
 */
export async function pickPerson(authorizationUrl: URL | string, subject: string): Promise<URL> {
  const { origin } = new URL(authorizationUrl);
  const cookies = new Map<string, string>();
  let url = new URL(authorizationUrl);
  let form: URLSearchParams | undefined;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      redirect: 'manual',
      ...(form === undefined ? {} : { body: form }),
    });
    for (const line of response.headers.getSetCookie()) storeCookie(cookies, line);
    const location = response.headers.get('location');
    const page = await response.text();
    if (location !== null) {
      url = new URL(location, url);
      form = undefined;
      if (url.origin !== origin) return url;
    } else if (response.ok && page.includes(`value="${subject}"`)) {
      form = new URLSearchParams({ subject });
    } else {
      throw new Error(`${url.pathname} answered ${response.status}: ${page.replace(/<style>.*<\/style>/s, '')}`);
    }
  }
  throw new Error(`The provider redirected ${MAX_STEPS} times.`);
}

/** Applies a Set-Cookie line; an empty value deletes the cookie. */
function storeCookie(cookies: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
  if (value === '') cookies.delete(name);
  else cookies.set(name, value);
}
