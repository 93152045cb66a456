import type { ServerResponse } from 'node:http';
import { AppError } from '@sealgate/errors';
import { routeFor, weakTag, isKnownTag, type Route } from '@sealgate/http';
import type { Cookies } from '../domain/cookies.ts';
import type { ConsoleCaller } from '../session-guard.ts';

const route = routeFor<ConsoleCaller>();

export interface PagesPorts {
  readonly index: string;
  readonly files: ReadonlyMap<
    string,
    { readonly bytes: Buffer; readonly contentType: string; readonly isImmutable: boolean }
  >;
  readonly newNonce: () => string;
  readonly cookies: Cookies;
}

/** Paths below these are never pages. */
const NO_PAGES = /^\/(?:api|admin|assets)(?:\/|$)/;

const policyOf = (nonce: string): string =>
  `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; ` +
  "connect-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/** What every page asks for first, so that it is on its way while the script still is (HTML, link type `preload`). */
const preloadOf = (...paths: string[]): string =>
  paths.map((path) => `<${path}>; rel=preload; as=fetch; crossorigin`).join(', ');

interface PageContext {
  readonly response: ServerResponse;
  header(name: string): string | undefined;
}

const open = { method: 'get', permit: 'open', charge: 'none', idempotency: 'none', query: 'ignored' } as const;

/** The built pages. Every path that is no file gets index.html, which does the routing. */
export function pageRoutes({ index, files, newNonce, cookies }: PagesPorts): Route<ConsoleCaller>[] {
  const parts = index.split('__CSP_NONCE__');
  const sendIndex = (context: PageContext): void => {
    const { response } = context;
    const nonce = newNonce();
    const isSignedIn = cookies.session([context.header('cookie') ?? '']) !== undefined;
    response.writeHead(200, {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policyOf(nonce),
      'Referrer-Policy': 'no-referrer',
      Link: isSignedIn ? preloadOf('/session', '/mine') : preloadOf('/session'),
    });
    response.end(parts.join(nonce));
  };
  return [
    route({
      ...open,
      path: '/',
      operationId: 'firstPage',
      summary: 'The console',
      responses: { 200: { description: 'A page.', contentType: 'text/html' } },
      errors: [],
      raw: true,
      handler: sendIndex,
    }),
    // Files are compressed once and cached; a page has a new nonce each time.
    ...[...files].map(([path, file], number) =>
      route({
        ...open,
        path,
        operationId: `file${number}`,
        summary: 'A static file of the pages',
        responses: { 200: { description: 'The file.', contentType: file.contentType } },
        errors: [],
        handler: fileHandler(path, file),
      }),
    ),
    route({
      ...open,
      path: '/*page',
      operationId: 'page',
      summary: 'A page of the console',
      responses: { 200: { description: 'A page.', contentType: 'text/html' } },
      errors: ['NOT_FOUND'],
      raw: true,
      handler(context) {
        if (NO_PAGES.test(context.path)) throw new AppError('NOT_FOUND', 'There is nothing at this path.');
        sendIndex(context);
      },
    }),
  ];
}

function fileHandler(
  path: string,
  { bytes, contentType, isImmutable }: { bytes: Buffer; contentType: string; isImmutable: boolean },
) {
  const headers = {
    ETag: weakTag(bytes),
    'Cache-Control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    // A page that is one file has its script within, which runs from a disk and not under the policy of this origin.
    ...(contentType.startsWith('text/html')
      ? { 'Content-Disposition': `attachment; filename="${path.slice(1)}"` }
      : {}),
  };
  return (context: Pick<PageContext, 'header'>) =>
    isKnownTag(context.header('if-none-match'), headers.ETag)
      ? { status: 304, headers }
      : { status: 200, body: bytes, contentType, headers };
}
