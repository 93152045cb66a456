import { describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import request from 'supertest';
import { plain, testRoute, testSurface } from '../test/test-surface.ts';
import type { AuthRequest } from './index.ts';

const held: (() => void)[] = [];
const looking = testRoute({
  ...plain,
  operationId: 'look',
  method: 'get',
  path: '/v1/things',
  permit: 'authenticated',
  looks: true,
  handler: () =>
    new Promise<{ status: number; body: object }>((resolve) => held.push(() => resolve({ status: 200, body: {} }))),
});
const deciding = testRoute({
  ...looking,
  operationId: 'decide',
  path: '/v1/things/:id',
  handler: () => ({ status: 200 }),
});
const streaming = testRoute({
  ...plain,
  operationId: 'stream',
  method: 'get',
  path: '/v1/tail',
  permit: 'authenticated',
  looks: 'stream',
  raw: true,
  handler: ({ response }) => {
    response.writeHead(200);
    held.push(() => response.end());
  },
});
const { looks: _looks, ...decides } = deciding;

/** A surface on which any key is a caller; two of one share have the same first letter. */
function surface() {
  held.length = 0;
  const authenticate = async (asked: AuthRequest) => ({ name: asked.header('x-api-key')[0] ?? '', permissions: [] });
  const { app } = testSurface([looking, decides, streaming], {
    guardChanges: { authenticate, shareOf: ({ name }) => name.slice(0, 1) },
  });
  const get = (path: string, key: string) => request(app).get(path).set('X-Api-Key', key);
  return { get };
}

const settled = async (count: number) => {
  while (held.length < count) await new Promise((resolve) => setImmediate(resolve));
};

describe('a request that looks', () => {
  it('is refused once eight of its caller are under way for a quarter of a second', async () => {
    const { get } = surface();
    const eight = Array.from({ length: 8 }, (_none, at) => get('/v1/things', `a${at}`).then((answer) => answer));
    await settled(8);
    const refused = await get('/v1/things', 'a9');
    expectProblem(refused, 'RATE_LIMITED');
    expect(refused.headers['retry-after']).toBe('1');
    held.splice(0).forEach((answer) => answer());
    for (const { status } of await Promise.all(eight)) expect(status).toBe(200);
  });

  it('keeps nobody else out, and nothing that decides', async () => {
    const { get } = surface();
    const eight = Array.from({ length: 8 }, () => get('/v1/things', 'a').then((answer) => answer));
    await settled(8);
    const other = get('/v1/things', 'b').then((answer) => answer);
    await settled(9);
    expect(await get('/v1/things/1', 'a')).toMatchObject({ status: 200 });
    held.splice(0).forEach((answer) => answer());
    expect(await other).toMatchObject({ status: 200 });
    await Promise.all(eight);
  });

  it('gets the place of one that ended', async () => {
    const { get } = surface();
    const nine = Array.from({ length: 9 }, () => get('/v1/things', 'a').then((answer) => answer));
    await settled(8);
    held.shift()?.();
    await settled(8);
    held.splice(0).forEach((answer) => answer());
    for (const { status } of await Promise.all(nine)) expect(status).toBe(200);
  });

  it('may stream to four clients of one caller, until they leave', async () => {
    const { get } = surface();
    const four = Array.from({ length: 4 }, () => get('/v1/tail', 'a').then((answer) => answer));
    await settled(4);
    expectProblem(await get('/v1/tail', 'a'), 'RATE_LIMITED');
    held.splice(0).forEach((end) => end());
    await Promise.all(four);
    const fifth = get('/v1/tail', 'a').then((answer) => answer);
    await settled(1);
    held.splice(0).forEach((end) => end());
    expect(await fifth).toMatchObject({ status: 200 });
  });

  it('needs a guard that names shares', () => {
    expect(() => testSurface([looking])).toThrow(
      'GET /v1/things: a route that looks needs shareOf of the guard'.slice(17),
    );
  });
});
