import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { routeFor, type Route } from '@sealgate/http';
import { DatabaseUnavailableError } from '@sealgate/storage';
import { telling503 } from './telling-503.ts';

const route = (method: 'get' | 'post', error: unknown): Route<never> =>
  routeFor<never>()({
    method,
    path: '/x',
    operationId: 'x',
    summary: 'x',
    permit: 'open',
    charge: 'none',
    idempotency: 'none',
    responses: { 200: { description: 'x' } },
    errors: [],
    handler: () => {
      throw error;
    },
  });

// A handler gets a context that it does not look at here.
const ask = (told: Route<never>[]) => told[0]!.handler({} as Parameters<Route<never>['handler']>[0]);
const lost = (sent: boolean) => new DatabaseUnavailableError('away', { sent });

describe('a route whose database is away', () => {
  it.each<[string, 'get' | 'post', boolean, string]>([
    ['a read, whatever was sent', 'get', true, 'UNAVAILABLE'],
    ['a change that certainly was not made', 'post', false, 'UNAVAILABLE'],
    ['a change that may have been made', 'post', true, 'OUTCOME_UNKNOWN'],
  ])('tells of %s', async (_what, method, sent, code) => {
    await expect(ask(telling503([route(method, lost(sent))]))).rejects.toMatchObject({ code, retryAfterSeconds: 1 });
  });

  it('leaves refusals and bugs as they are', async () => {
    const refusal = new AppError('NOT_FOUND', 'x');
    await expect(ask(telling503([route('post', refusal)]))).rejects.toBe(refusal);
    const bug = new TypeError('x');
    await expect(ask(telling503([route('post', bug)]))).rejects.toBe(bug);
    await expect(ask(telling503([route('post', bug)], async () => true))).rejects.toBe(bug);
  });

  it('asks the database itself what an error of no known class was for', async () => {
    const told = telling503([route('post', new Error('engine'))], async () => false);
    await expect(ask(told)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it.each(['P2028', 'P2024', 'P1017'])(
    'takes a transaction that was lost (%s) for an outage that is over',
    async (code) => {
      const lostTransaction = Object.assign(new Error('Transaction API error'), { code });
      const told = telling503([route('post', lostTransaction)], async () => true);
      await expect(ask(told)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    },
  );

  it('says so in its description, where it changes something', () => {
    expect(telling503([route('post', 0)])[0]!.errors).toEqual(['OUTCOME_UNKNOWN']);
    expect(telling503([route('get', 0)])[0]!.errors).toEqual([]);
  });
});
