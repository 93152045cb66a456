import { describe, expect, it } from '@jest/globals';
import type { PlannedRequest } from './load-plan.ts';
import { BodiesInTurn, RequestList } from './request-list.ts';

const numbered: PlannedRequest[] = Array.from({ length: 50 }, (_, number) => ({ method: 'GET', path: `/${number}` }));
const listFor = (requests: readonly PlannedRequest[], connection = 0) =>
  new RequestList({ port: 80, headers: { Authorization: 'Bearer k' }, requests }, connection);
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

describe('bodies in turn', () => {
  const bodies = ['"0"', '"1"', '"2"', '"3"', '"4"'];
  const inTurn = (firstBody: number, connection: number) =>
    new BodiesInTurn({ port: 80, path: '/a', headers: {}, bodies, firstBody, connections: 2 }, connection);
  const sent = (list: BodiesInTurn, count: number): string[] =>
    Array.from({ length: count }, () => list.next().toString().split('\r\n\r\n')[1]!);

  it('are each sent once by all connections together before the first repeats, from the given start', () => {
    expect(inTurn(0, 0).next().toString()).toBe(
      'POST /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 3\r\n\r\n"0"',
    );
    expect(sent(inTurn(0, 0), 5)).toEqual(['"0"', '"2"', '"4"', '"1"', '"3"']);
    expect(sent(inTurn(0, 1), 5)).toEqual(['"1"', '"3"', '"0"', '"2"', '"4"']);
    expect(sent(inTurn(7, 0), 2)).toEqual(['"2"', '"4"']);
  });
});
