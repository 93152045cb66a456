import { sha256 } from '@sealgate/json';
import type { Reply } from './reply.ts';
import { isKnownTag } from './request-view.ts';

/**
 * The weak entity tag of what an answer says (RFC 9110, section 8.8.1): bytes may differ under it, by the time of the answer
 * or by its content coding. Where a body is stored and its bytes never differ, a strong one says more.
 */
export const weakTag = (content: string | Buffer): string => `W/"${sha256(content).toString('base64url')}"`;

/** The answer to GET of a document that anybody may keep for a while, here and in caches on the way, and then ask about. */
export function publicDocument(
  body: string | Buffer,
  { ifNoneMatch, maxAgeSeconds, contentType }: PublicDocumentOptions,
): Reply & { readonly status: 200 | 304 } {
  const tag = weakTag(body);
  const headers = { 'Cache-Control': `public, max-age=${maxAgeSeconds}`, ETag: tag };
  if (isKnownTag(ifNoneMatch, tag)) return { status: 304, headers };
  return { status: 200, body, headers, ...(contentType !== undefined && { contentType }) };
}

export interface PublicDocumentOptions {
  /** The header, as it was sent. */
  readonly ifNoneMatch: string | undefined;
  readonly maxAgeSeconds: number;
  /** Absent: `application/json`. */
  readonly contentType?: string;
}
