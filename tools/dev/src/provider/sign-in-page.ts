import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';

/** A person of the development provider. */
export interface DemoIdentity {
  /** A role of surface A, or `operator`: the operator role on the admin listeners. */
  readonly role: string;
  /** `sub` of the tokens. */
  readonly subject: string;
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
}

const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0; background: light-dark(#f4f6f8, #14181c); color: light-dark(#1b2733, #e6ebf0); }
main { max-width: 30rem; margin: 0 auto; padding: 2rem 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
ul { list-style: none; margin: 1.5rem 0; padding: 0; display: grid; gap: .5rem; }
button { width: 100%; padding: .75rem 1rem; font: inherit; text-align: left; cursor: pointer; border-radius: .5rem;
  border: 1px solid light-dark(#8795a3, #6c7a88); background: light-dark(#fff, #1e242b); color: inherit; }
button:hover, button:focus-visible { border-color: light-dark(#0b5cad, #7ab8f5); }
button:focus-visible { outline: 3px solid light-dark(#0b5cad, #7ab8f5); outline-offset: 2px; }
button span, dd { color: light-dark(#4a5967, #a9b5c1); overflow-wrap: anywhere; }
button span { display: block; font-size: .875rem; }
dt { font-weight: 600; } dd { margin: 0 0 .75rem; }
.note { border-left: .25rem solid light-dark(#9a5b00, #e0a84a); padding-left: .75rem; }
`;

// No form-action: browsers also apply it to the redirect to the client.
const POLICY = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; frame-ancestors 'none'; base-uri 'none'`;

/** Headers of every page: no scripts, no third-party content, no frames, no cache. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

const NOTE =
  '<p class="note">For development only: anyone who reaches this page can sign in as anyone. It runs on this machine only, never in production.</p>';

/** An HTML document. `title` is text, `body` is HTML. */
export const pageOf = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${STYLE}</style></head><body><main><h1>${escaped(title)}</h1>${body}${NOTE}</main></body></html>`;

export function sendPage(response: ServerResponse, status: number, page: string): void {
  response.writeHead(status, PAGE_HEADERS).end(page);
}

/** One button for each person. */
export function pickPage(clientName: string, people: readonly DemoIdentity[]): string {
  const buttons = people.map(
    ({ subject, name, email }) =>
      `<li><button name="subject" value="${escaped(subject)}">${escaped(name)}<span>${escaped(email)}</span></button></li>`,
  );
  return pageOf(
    'Choose a person',
    `<p>${escaped(clientName)} asks you to sign in.</p><form method="post"><ul>${buttons.join('')}</ul></form>`,
  );
}

/** The start page of the provider. */
export function aboutPage(facts: Readonly<Record<string, string>>): string {
  const rows = Object.entries(facts).map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`);
  return pageOf('Sign-in for development', `<dl>${rows.join('')}</dl>`);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text escaped for HTML elements and attributes. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
