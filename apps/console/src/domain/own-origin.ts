import { AppError } from '@sealgate/errors';

/** Another origin cannot send it without a CORS preflight, which fails. */
const CONSOLE_HEADER = 'x-sealgate-console';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** `none`: typed into the address bar, or opened from a bookmark. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

export interface OriginRequest {
  readonly method: string;
  /** `name` is lower case. */
  header(name: string): string | undefined;
}

/**
 * Checks that a page of this console sent the request. A change needs our Origin and our header; requests that the
 * browser marks as cross-site are refused, reads too.
 * @throws AppError ORIGIN_NOT_ALLOWED
 */
export function requireOwnOrigin(request: OriginRequest, publicUrl: string): void {
  const site = request.header('sec-fetch-site');
  if (site !== undefined && !OWN_SITES.has(site)) throw refused('This request was sent by a page of another site.');
  if (READS.has(request.method)) return;
  const [origin, own] = [request.header('origin'), new URL(publicUrl).origin];
  if (origin === undefined)
    throw refused(`A change needs the header Origin, as browsers send it: ${own} (PUBLIC_URL of the console).`);
  if (origin !== own)
    throw refused(`A change must come from a page at ${own} (PUBLIC_URL of the console): its Origin is another one.`);
  if (request.header(CONSOLE_HEADER) !== '1')
    throw refused('A change needs the header X-Sealgate-Console: 1, as pages of this console send it.');
}

const refused = (detail: string): AppError => new AppError('ORIGIN_NOT_ALLOWED', detail);
