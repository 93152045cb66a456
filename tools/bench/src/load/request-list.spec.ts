import { describe, expect, it } from '@jest/globals';
import type { PlannedRequest } from './load-plan.ts';
import { RequestList } from './request-list.ts';

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

  it('comes to every one of them, in an order that each connection has for itself', () => {
    const first = pathsOf(listFor(numbered), 1_000);
    expect(new Set(first).size).toBe(50);
    expect(pathsOf(listFor(numbered), 1_000)).toEqual(first);
    expect(pathsOf(listFor(numbered, 1), 1_000)).not.toEqual(first);
  });

  it('holds at least one', () => {
    expect(() => listFor([])).toThrow('at least one');
  });
});
