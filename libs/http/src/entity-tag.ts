import { sha256 } from '@sealgate/json';
import type { Reply } from './route.ts';

/**
 * The weak entity tag of a content (RFC 9110 section 8.8.1): bytes may differ under it, by response time or content
 * coding. For stored bytes that never change, use a strong tag.
 */
export const weakTag = (content: string | Buffer): string => `W/"${sha256(content).toString('base64url')}"`;

/**
 * The answer to GET of a document that caches may keep for a while and then revalidate. `ifNoneMatch` is If-None-Match as
 * sent; without `contentType` it is `application/json`.
 */
export function publicDocument(
  body: string | Buffer,
  {
    ifNoneMatch,
    maxAgeSeconds,
    contentType,
  }: { readonly ifNoneMatch: string | undefined; readonly maxAgeSeconds: number; readonly contentType?: string },
): Reply & { readonly status: 200 | 304 } {
  const tag = weakTag(body);
  const headers = { 'Cache-Control': `public, max-age=${maxAgeSeconds}`, ETag: tag };
  if (isKnownTag(ifNoneMatch, tag)) return { status: 304, headers };
  return { status: 200, body, headers, ...(contentType !== undefined && { contentType }) };
}

/**
 * Whether If-None-Match matches this entity tag, so that the answer is a 304: `*` or any listed tag, by weak comparison
 * (RFC 9110 section 13.1.2). Our tags contain no comma.
 */
export function isKnownTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const bare = (tag: string): string => tag.trim().replace(/^W\//, '');
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => bare(tag) === bare(etag));
}
