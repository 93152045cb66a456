import type { Browser, Page } from 'playwright-core';

/** The role of a person of the demo; undefined for nobody. */
type Role = string | undefined;
type Work<T> = (page: Page) => Promise<T>;

/** Windows of the browser, signed in by way of the provider's page. */
export interface Windows {
  /**
   * Runs `work` in a window at this path, and returns its result. All stories of a role share a window, which signs in
   * once, because a new one costs more than most stories; it is closed after a story that failed.
   */
  visit<T>(role: Role, path: string, work: Work<T>): Promise<T>;
  /** The same in a browser profile of its own, for stories that begin, end or change a session. */
  visitAlone<T>(role: Role, path: string, work: Work<T>): Promise<T>;
}

interface Place {
  readonly browser: Browser;
  /** The console's URL, without a trailing slash. */
  readonly url: string;
  readonly people: readonly { readonly role: string; readonly subject: string }[];
}

export function windowsOf({ browser, url, people }: Place): Windows {
  const shared = new Map<Role, Page>();

  async function open(): Promise<Page> {
    const profile = await browser.newContext({
      baseURL: url,
      locale: 'en-GB',
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
    });
    profile.setDefaultTimeout(20_000);
    return profile.newPage();
  }

  async function signIn(page: Page, role: Role, path: string): Promise<void> {
    if (role === undefined) return void (await page.goto(path));
    const person = people.find((one) => one.role === role);
    if (person === undefined) throw new Error(`The demo has no person with the role ${role}.`);
    await page.goto(`/sign-in?returnTo=${encodeURIComponent(path)}`);
    await page.click(`button[value="${person.subject}"]`);
    await page.waitForURL((at) => at.origin === url);
  }

  return {
    async visit(role, path, work) {
      const known = shared.get(role);
      shared.delete(role);
      const page = known ?? (await open());
      try {
        await (known === undefined ? signIn(page, role, path) : page.goto(path));
        const result = await work(page);
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await page.goto('about:blank'); // Pages ask again from time to time.
        shared.set(role, page);
        return result;
      } catch (error) {
        await page.context().close();
        throw error;
      }
    },
    async visitAlone(role, path, work) {
      const page = await open();
      try {
        await signIn(page, role, path);
        return await work(page);
      } finally {
        await page.context().close();
      }
    },
  };
}
