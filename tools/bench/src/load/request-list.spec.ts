import { describe, expect, it } from '@jest/globals';
import type { PlannedRequest } from './load-plan.ts';
import { inTurn, randomOrder, RequestList } from './request-list.ts';

const numbered: PlannedRequest[] = Array.from({ length: 50 }, (_, number) => ({ method: 'GET', path: `/${number}` }));
const listFor = (requests: readonly PlannedRequest[], connection = 0) =>
  new RequestList(requests, { port: 80, headers: { Authorization: 'Bearer k' } }, randomOrder(connection));
const pathsOf = (list: RequestList, count: number): string[] =>
  Array.from({ length: count }, () => list.next().toString().split(' ')[1]!);

describe('a list of requests', () => {
  it('sends whole requests, with a body where there is one', () => {
    const get = listFor([{ method: 'GET', path: '/a' }]);
    expect(get.next().toString()).toBe('GET /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAuthorization: Bearer k\r\n\r\n');
    const post = listFor([{ method: 'POST', path: '/a', body: '"ü"' }]);
    expect(post.next().toString()).toMatch(/\r\nContent-Length: 4\r\n\r\n"ü"$/);
  });

  it('covers all requests, in an order of its own for each connection', () => {
    const first = pathsOf(listFor(numbered), 1_000);
    expect(new Set(first).size).toBe(50);
    expect(pathsOf(listFor(numbered), 1_000)).toEqual(first);
    expect(pathsOf(listFor(numbered, 1), 1_000)).not.toEqual(first);
  });

  it('needs at least one request', () => {
    expect(() => listFor([])).toThrow('at least one');
  });
});

describe('requests in turn', () => {
  it('are each sent once by all connections together before the first repeats, from the given start', () => {
    const few = numbered.slice(0, 5);
    const sent = (first: number, connection: number, count: number): string[] =>
      pathsOf(new RequestList(few, { port: 80, headers: {} }, inTurn(first + connection, 2)), count);
    expect(sent(0, 0, 5)).toEqual(['/0', '/2', '/4', '/1', '/3']);
    expect(sent(0, 1, 5)).toEqual(['/1', '/3', '/0', '/2', '/4']);
    expect(sent(7, 0, 2)).toEqual(['/2', '/4']);
  });
});
