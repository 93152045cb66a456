import { AppError } from '@sealgate/errors';

/** A page of another origin cannot send it without being asked about first (CORS), and is then refused. */
export const CONSOLE_HEADER = 'x-sealgate-console';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** `none`: typed into the address bar, or opened from a bookmark. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

export interface OriginRequest {
  readonly method: string;
  /** `name` is lower case. */
  header(name: string): string | undefined;
}

/**
 * Whether our own pages sent this. A change needs our Origin and our header; whatever a browser says comes from another
 * site is refused, reads too.
 * @throws AppError ORIGIN_NOT_ALLOWED
 */
export function requireOwnOrigin(request: OriginRequest, publicUrl: string): void {
  const site = request.header('sec-fetch-site');
  if (site !== undefined && !OWN_SITES.has(site)) throw refused('This was sent by a page of another site.');
  if (READS.has(request.method)) return;
  if (request.header('origin') !== new URL(publicUrl).origin)
    throw refused('A change has to come from a page of this console: its Origin is missing, or another.');
  if (request.header(CONSOLE_HEADER) !== '1')
    throw refused('A change has to come from a page of this console: X-Sealgate-Console is missing.');
}

const refused = (detail: string): AppError => new AppError('ORIGIN_NOT_ALLOWED', detail);
