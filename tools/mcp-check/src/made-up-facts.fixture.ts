import { LISTED, WITH_ITEM, type RestAnswer, type RestFacts } from './inspector/rest-facts.ts';

const answer = (body: object): RestAnswer => ({ body: { orgId: 'org_1', ...body }, signature: 'a..b' });

/** What REST could have said: a page of one row in each list, and one more of risks. */
export function madeUpFacts(): RestFacts {
  const page = (name: string, nextCursor: string | null): RestAnswer =>
    answer({ items: [{ id: `${name}_1` }], pagination: { limit: 2, count: 1, nextCursor } });
  return {
    pages: new Map(LISTED.map((name) => [name, page(name, name === 'risks' ? 'next' : null)])),
    items: new Map(WITH_ITEM.map((name) => [name, answer({ item: { id: `${name}_1` } })])),
    secondRisks: page('second', null),
    whoami: { orgId: 'org_1', roles: ['viewer'] },
  };
}
