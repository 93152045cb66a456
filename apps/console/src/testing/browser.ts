import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A minimal browser: cookie jar per origin and redirects; sends paths unchanged. */
export class Browser {
  readonly cookies = new Map<string, Map<string, string>>();

  async ask(origin: string, path: string, { method = 'GET', headers = {}, body }: Ask = {}): Promise<Answer> {
    const { hostname, port } = new URL(origin);
    const jar = this.jarOf(origin);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await new Promise<Answer>((resolve, reject) => {
      const sent = { ...(cookie !== '' && { cookie }), ...headers };
      const outgoing = httpRequest({ hostname, port, path, method, headers: sent }, (incoming) => {
        let text = '';
        incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        incoming.on('error', reject);
        incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: text }));
      });
      outgoing.on('error', reject).end(body);
    });
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s);
      if (value === '' || /Max-Age=0/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }

  jarOf(origin: string): Map<string, string> {
    const jar = this.cookies.get(origin) ?? new Map<string, string>();
    this.cookies.set(origin, jar);
    return jar;
  }

  /** Follows redirects until there is none, or one leads to a path that the caller wants to handle. */
  async follow(url: string, until: (url: URL) => boolean = () => false): Promise<{ answer: Answer; url: URL }> {
    let at = new URL(url);
    for (let hops = 0; hops < 12; hops += 1) {
      const answer = await this.ask(at.origin, at.pathname + at.search);
      const { location } = answer.headers;
      if (location === undefined) return { answer, url: at };
      at = new URL(location, at);
      if (until(at)) return { answer, url: at };
    }
    throw new Error('Too many redirects.');
  }

  /** A change as the console's pages send it. */
  change(origin: string, path: string, ask: Ask = {}): Promise<Answer> {
    const headers = { origin, 'x-sealgate-console': '1', 'content-type': 'application/json', ...ask.headers };
    return this.ask(origin, path, { method: 'POST', ...ask, headers });
  }
}
