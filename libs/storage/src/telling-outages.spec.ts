import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError, isReachable, telling503, tellingOutages } from './index.ts';

const lost = (sent: boolean) => new DatabaseUnavailableError('away', { sent });
const failing = (error: unknown) => () => Promise.reject(error);
const away = async () => false;
const back = async () => true;

describe('work whose database is away', () => {
  it.each<[string, boolean, boolean, string]>([
    ['a read, whatever was sent', false, true, 'UNAVAILABLE'],
    ['a change that certainly was not made', true, false, 'UNAVAILABLE'],
    ['a change that may have been made', true, true, 'OUTCOME_UNKNOWN'],
  ])('is told of as %s is', async (_what, changes, sent, code) => {
    const error = lost(sent);
    const told = { code, status: 503, retryAfterSeconds: 1, cause: error };
    await expect(tellingOutages(failing(error), { changes })).rejects.toMatchObject(told);
    // Whether it answers by now does not matter: this was not answered.
    await expect(tellingOutages(failing(error), { changes, isReachable: back })).rejects.toMatchObject(told);
  });

  it('is told of in the words that were given, also where it throws at once', async () => {
    const atOnce = (): Promise<void> => {
      throw lost(true);
    };
    await expect(tellingOutages(atOnce, { detail: 'The key store is away.' })).rejects.toThrow(
      'The key store is away.',
    );
    await expect(tellingOutages(atOnce, { changes: true, advice: 'send it again' })).rejects.toThrow(
      'The database did not say whether the change was made; send it again.',
    );
  });

  it('keeps its refusals and bugs, and its answer', async () => {
    const refusal = new AppError('NOT_FOUND', 'x');
    await expect(tellingOutages(failing(refusal), { isReachable: away })).rejects.toBe(refusal);
    const bug = new TypeError('x');
    await expect(tellingOutages(failing(bug))).rejects.toBe(bug);
    await expect(tellingOutages(failing(bug), { isReachable: back })).rejects.toBe(bug);
    await expect(tellingOutages(() => 7)).resolves.toBe(7);
  });

  it('asks the database itself what an error of no known class was for', async () => {
    const told = tellingOutages(failing(new Error('engine')), { changes: true, isReachable: away });
    await expect(told).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it.each(['P1008', 'P1017', 'P2024', 'P2028'])(
    'takes a transaction of Prisma that was lost (%s) for an outage that is over',
    async (code) => {
      const error = Object.assign(new Error('Transaction API error'), { code });
      await expect(tellingOutages(failing(error), { isReachable: back })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
      });
    },
  );
});

describe('routes that tell of outages', () => {
  const route = (method: string, handler: (given: string) => unknown) => ({
    method,
    path: '/x',
    errors: ['NOT_FOUND' as const],
    handler,
  });
  const ask = (told: ReturnType<typeof route>[]) => told[0]?.handler('given');

  it('answer as before, with what they were given', async () => {
    await expect(ask(telling503([route('post', (given) => `${given} back`)]))).resolves.toBe('given back');
  });

  it('leave open whether a change was made, and never a read', async () => {
    const fails = failing(lost(true));
    await expect(ask(telling503([route('get', fails)]))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    for (const method of ['post', 'put', 'patch', 'delete']) {
      const told = telling503([route(method, fails)], { advice: 'send it again' });
      await expect(ask(told)).rejects.toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        message: expect.stringMatching(/send it again/),
      });
    }
  });

  it('say so once in their description, where they change something', () => {
    const [told] = telling503(telling503([route('post', () => 0)]));
    expect(told).toMatchObject({ path: '/x', errors: ['NOT_FOUND', 'OUTCOME_UNKNOWN'] });
    expect(telling503([route('get', () => 0)])[0]?.errors).toEqual(['NOT_FOUND']);
  });
});

it('a database is reachable as long as it answers a ping in time', async () => {
  const asked: number[] = [];
  const database = (answer: Promise<void>) => ({ ping: (ms: number) => (asked.push(ms), answer) });
  await expect(isReachable(database(Promise.resolve()), 500)).resolves.toBe(true);
  await expect(isReachable(database(Promise.reject(lost(false))), 400)).resolves.toBe(false);
  expect(asked).toEqual([500, 400]);
});
