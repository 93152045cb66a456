import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import request from 'supertest';
import { plain, testRoute, testSurface } from '../test/test-surface.ts';
import { Deciding } from './deciding.ts';
import type { AuthRequest } from './index.ts';

describe('requests that decide', () => {
  it('are under way until 20 ms after the last one has ended', () => {
    let nowMs = 1000;
    const deciding = new Deciding(() => nowMs);
    expect(deciding.isUnderWay()).toBe(false);
    const [first, second] = [deciding.begin(), deciding.begin()];
    first();
    nowMs += 500;
    expect(deciding.isUnderWay()).toBe(true);
    second();
    nowMs += 19;
    expect(deciding.isUnderWay()).toBe(true);
    nowMs += 1;
    expect(deciding.isUnderWay()).toBe(false);
  });

  it('are those of known callers on routes that do not look', async () => {
    const deciding = new Deciding();
    const seen: [string, boolean][] = [];
    const route = (operationId: string, more: object) =>
      testRoute({
        ...plain,
        operationId,
        method: 'get',
        path: `/v1/${operationId}`,
        permit: 'authenticated',
        handler: () => {
          seen.push([operationId, deciding.isUnderWay()]);
          return { status: 200 };
        },
        ...more,
      });
    const { app } = testSurface([route('looks', { looks: true }), route('decides', {})], {
      deciding,
      guardChanges: {
        authenticate: async (asked: AuthRequest) => {
          if (asked.header('x-api-key')[0] === undefined) throw new AppError('UNAUTHENTICATED', 'No key.');
          return { name: 'a', permissions: [] };
        },
        shareOf: () => 'a',
      },
    });
    await request(app).get('/v1/decides');
    expect(deciding.isUnderWay()).toBe(false);
    await request(app).get('/v1/looks').set('X-Api-Key', 'a');
    await request(app).get('/v1/decides').set('X-Api-Key', 'a');
    expect(seen).toEqual([
      ['looks', false],
      ['decides', true],
    ]);
    expect(deciding.isUnderWay()).toBe(true);
  });
});
