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
  if (request.header('origin') !== new URL(publicUrl).origin)
    throw refused('A change must come from a page of this console: Origin is missing or wrong.');
  if (request.header(CONSOLE_HEADER) !== '1')
    throw refused('A change must come from a page of this console: X-Sealgate-Console is missing.');
}

const refused = (detail: string): AppError => new AppError('ORIGIN_NOT_ALLOWED', detail);
