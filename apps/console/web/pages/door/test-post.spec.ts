import { describe, expect, it } from '@jest/globals';
import { testPost, type Post } from './test-post.ts';

const POST: Post = { key: `gk_${'k'.repeat(43)}`, venueId: 'venue-1' };
const answering = (status: number, body: unknown = {}) => ({
  fetch: () => Promise.resolve(new Response(JSON.stringify(body), { status })),
});
const blamed = async (...of: Parameters<typeof testPost>) => (await testPost(...of)).map(({ at }) => at);
const venue = (more: object) => ({ venue_id: 'venue-1', name: 'One', active: true, ...more });

describe('the test of a post', () => {
  it('asks the gate for the venue, with the key alone', async () => {
    const asked: [string, RequestInit][] = [];
    const fetch = (url: unknown, init: unknown) => {
      asked.push([String(url), init as RequestInit]);
      return Promise.resolve(new Response(JSON.stringify(venue({}))));
    };
    expect(await testPost({ fetch }, POST)).toEqual([]);
    expect(asked).toHaveLength(1);
    expect(asked[0]![0]).toBe('/api/case-gate/v1/gate/venues/venue-1');
    expect(asked[0]![1]).toMatchObject({ headers: { 'X-Api-Key': POST.key }, credentials: 'omit' });
  });

  it.each([
    [401, {}, 'key'],
    [403, {}, 'key'],
    [404, {}, 'venue'],
    [429, {}, 'service'],
    [500, {}, 'service'],
    [200, venue({ active: false }), 'venue'],
    [200, venue({ venue_id: 'venue-2' }), 'service'],
    [200, venue({ active: 'true' }), 'venue'],
    [200, [], 'service'],
  ])('of an answer %i %j blames the %s', async (status, body, at) => {
    expect(await blamed(answering(status, body), POST)).toEqual([at]);
  });

  it('blames the service if it cannot be reached, or answers no JSON', async () => {
    expect(await blamed({ fetch: () => Promise.reject(new TypeError('no')) }, POST)).toEqual(['service']);
    expect(await blamed({ fetch: () => Promise.resolve(new Response('no')) }, POST)).toEqual(['service']);
  });

  it.each([
    [{ key: 'gk_short' }, ['key']],
    [{ key: `sg_${'k'.repeat(43)}` }, ['key']],
    [{ venueId: '' }, ['venue']],
    [{ venueId: '../check' }, ['venue']],
    [{ venueId: 'v'.repeat(65) }, ['venue']],
    [{ venueId: '', key: '' }, ['venue', 'key']],
  ])('sends nothing for %j', async (more, at) => {
    const fetch = () => Promise.reject(new Error('It was sent.'));
    expect(await blamed({ fetch }, { ...POST, ...more })).toEqual(at);
  });
});
