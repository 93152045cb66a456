import { openApi, type OpenApiDocument } from '@sealgate/http';
import { consoleRoutes, type ConsolePorts } from './app.ts';

/** Routes use their ports only when a request arrives, so describing them needs none. */
const noPorts = { surfaces: [], index: '', files: new Map() } as unknown as ConsolePorts;

/** The OpenAPI description of the console's listener, without the pages. */
export function publicDescription(): OpenApiDocument {
  return openApi({
    title: 'Sealgate console',
    version: '1.0.0',
    description:
      'Signs people in and forwards their requests to the surfaces: `/api/<surface>/...` to the public listener, `/admin/<surface>/...` to the admin listener; see the API descriptions of the surfaces. Only for the pages of the console, on its own origin: the session is a cookie, and every change needs the Origin of the console and `X-Sealgate-Console: 1`.',
    routes: consoleRoutes(noPorts).filter(({ operationId }) => operationId !== 'firstPage' && operationId !== 'page'),
    securityScheme: 'ApiKey',
    publicUrl: undefined,
  });
}
