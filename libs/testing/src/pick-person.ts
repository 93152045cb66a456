const MOST_STEPS = 10;

/**
 * What a browser does at the development provider's sign-in page: follows redirects with its cookies, and picks a person.
 * @param authorizationUrl where the client sends the browser.
 * @param subject `sub` of the person to pick.
 * @returns where the provider sends the browser in the end: the client's redirect URI with a code, or with an error.
 * @throws Error where a page is met that is neither, with the page's status and text.
 */
export async function pickPerson(authorizationUrl: URL | string, subject: string): Promise<URL> {
  const { origin } = new URL(authorizationUrl);
  const cookies = new Map<string, string>();
  let url = new URL(authorizationUrl);
  let form: URLSearchParams | undefined;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      redirect: 'manual',
      ...(form === undefined ? {} : { body: form }),
    });
    for (const line of response.headers.getSetCookie()) keep(cookies, line);
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
  throw new Error(`The provider redirected ${MOST_STEPS} times.`);
}

/** An empty value takes the cookie away. */
function keep(cookies: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
  if (value === '') cookies.delete(name);
  else cookies.set(name, value);
}
