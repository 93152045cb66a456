import { expect, it } from '@jest/globals';
import { isKnownTag, publicDocument, weakTag } from './index.ts';

const tag = weakTag('{"keys":[]}');
const opaque = tag.slice(2);

it('a tag is weak, depends only on the content and fits a header', () => {
  expect(tag).toMatch(/^W\/"[\w-]{43}"$/);
  expect(weakTag('{"keys":[]}')).toBe(tag);
  expect(weakTag('{"keys":[1]}')).not.toBe(tag);
});

it.each([tag, opaque, '*', ' * ', `"a", ${tag}`, `${opaque},"b"`, `W/"a"\t,, ${tag} ,`])(
  'If-None-Match: %s matches by weak comparison (RFC 9110, 13.1.2)',
  (header) => expect(isKnownTag(header, tag)).toBe(true),
);

it.each([undefined, '', '"*"', 'W/*', opaque.slice(1, -1), `"x${opaque.slice(1)}`, `w/${opaque}`])(
  'If-None-Match: %s does not match',
  (header) => expect(isKnownTag(header, tag)).toBe(false),
);

it('a public document is cacheable, then revalidated, and sent again only if it has changed', () => {
  const headers = { 'Cache-Control': 'public, max-age=60', ETag: tag };
  const first = publicDocument('{"keys":[]}', { ifNoneMatch: undefined, maxAgeSeconds: 60 });
  expect(first).toEqual({ status: 200, body: '{"keys":[]}', headers });
  expect(publicDocument('{"keys":[]}', { ifNoneMatch: tag, maxAgeSeconds: 60 })).toEqual({ status: 304, headers });
  expect(publicDocument('{}', { ifNoneMatch: tag, maxAgeSeconds: 60 }).status).toBe(200);
});
