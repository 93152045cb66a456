import { pickPerson } from '@sealgate/testing';
import type { HttpAnswer } from '../../harness/http-exchange.ts';
import type { Sent } from '../history.ts';
import { nowMs } from '../now.ts';
import type { SiteProvider } from '../provider/site-provider.ts';
import type { Random } from '../random.ts';
import type { Client } from './client.ts';

/** What a browser asks the console. */
export interface Visit {
  readonly act: string;
  readonly method?: string;
  readonly path: string;
  readonly body?: object;
  readonly sent?: Sent;
}

/** A cookie as it was before its session ended, and the sign-in that it is of. */
export interface CopiedCookie {
  readonly subject: string;
  readonly session: string;
  readonly cookie: string;
}

export interface BrowserOptions {
  readonly subject: string;
  readonly client: Client;
  readonly provider: SiteProvider;
}

/** The browser of one person at the console: its cookies, and nothing else, tell who it is, whichever replica is asked. */
export class Browser {
  readonly subject: string;
  readonly #options: BrowserOptions;
  readonly #cookies = new Map<string, string>();
  #session: { readonly name: string; readonly sinceMs: number } | undefined;

  constructor(options: BrowserOptions) {
    this.subject = options.subject;
    this.#options = options;
  }

  /** When it signed in; undefined if nobody is. */
  get signedInAtMs(): number | undefined {
    return this.#session?.sinceMs;
  }

  /** Sends it to that replica; undefined where no answer came. */
  async visit({ act, method = 'GET', path, body, sent = {} }: Visit, replica: number): Promise<HttpAnswer | undefined> {
    const { client, provider } = this.#options;
    const ofChange = { Origin: provider.consoleUrl, 'X-Sealgate-Console': '1', 'Content-Type': 'application/json' };
    const session = this.#session === undefined ? {} : { session: this.#session.name };
    const answer = await client.ask(
      {
        ...{ surface: 'console', act, as: this.subject, method, path },
        headers: { Cookie: this.#cookieLine(), ...(method === 'GET' ? {} : ofChange) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        sent: { ...session, ...sent },
      },
      replica,
    );
    for (const line of [answer?.headers['set-cookie'] ?? []].flat()) this.#store(line);
    return answer;
  }

  /** Signs in by the protocol; the replica that ends it need not be the one that began it. Tried once. */
  async signIn(random: Random): Promise<void> {
    const begun = await this.visit({ act: 'sign-in', path: '/sign-in' }, random.below(2));
    const location = begun?.headers['location'];
    if (begun?.status !== 303 || typeof location !== 'string') return;
    // The provider is away: the person sees the error of the browser.
    const back = await pickPerson(location, this.subject).catch(() => undefined);
    if (back === undefined) return;
    const session = `s-${random.text(12)}`;
    const sent = { session };
    const told = await this.visit({ act: 'signed-in', path: `${back.pathname}${back.search}`, sent }, random.below(2));
    if (told?.status === 303) this.#session = { name: session, sinceMs: nowMs() };
  }

  /** Signs out. Returns the cookie that no longer counts, once that was answered. */
  async signOut(random: Random): Promise<CopiedCookie | undefined> {
    const copied = { subject: this.subject, session: this.#session?.name ?? '', cookie: this.#cookieLine() };
    const told = await this.visit({ act: 'sign-out', method: 'POST', path: '/sign-out' }, random.below(2));
    this.forget();
    return told?.status === 200 ? copied : undefined;
  }

  /** As the pages do after a 401: asks whether somebody is still signed in. */
  async look(replica: number): Promise<void> {
    const told = await this.visit({ act: 'session', path: '/session' }, replica);
    if (told?.status === 200 && (told.body as { readonly person: unknown }).person === null) this.forget();
  }

  forget(): void {
    this.#cookies.clear();
    this.#session = undefined;
  }

  #cookieLine(): string {
    return [...this.#cookies].map((pair) => pair.join('=')).join('; ');
  }

  /** An empty value deletes the cookie. */
  #store(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '') this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}
