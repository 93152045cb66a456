import type { ServerResponse } from 'node:http';
import { createHash } from 'node:crypto';
import { problemOf, type AppError } from '@sealgate/errors';

const STYLE =
  ':root{color-scheme:light dark;background:light-dark(#fff,#14181c);color:light-dark(#14181c,#f4f6f8)}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto 0;padding:0 1rem}' +
  'code{overflow-wrap:anywhere}a{color:light-dark(#1a4fc4,#9dbcff)}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The problem as a page, for whoever followed a link and has no page of ours open. */
export function refusalPage(response: ServerResponse, error: AppError, requestId: string): void {
  const { title, detail, status, code } = problemOf(error, requestId);
  const retry = error.retryAfterSeconds === undefined ? {} : { 'Retry-After': String(error.retryAfterSeconds) };
  const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escaped(title)}</h1><p>${escaped(detail ?? '')}</p>
<p><a href="/sign-in">Sign in again</a> · <a href="/">Back to the console</a></p>
<p><small>${escaped(code ?? '')} · request <code>${escaped(requestId)}</code></small></p></main></body></html>
`;
  response.writeHead(status, {
    ...retry,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': POLICY,
    'Referrer-Policy': 'no-referrer',
  });
  response.end(page);
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
