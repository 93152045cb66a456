import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError, isReachable, mapRouteOutages, mapOutages } from './index.ts';

const lost = (sent: boolean) => new DatabaseUnavailableError('away', { sent });
const failing = (error: unknown) => () => Promise.reject(error);
const away = async () => false;
const back = async () => true;

describe('mapOutages', () => {
  it.each<[string, boolean, boolean, string]>([
    ['a read, sent or not', false, true, 'UNAVAILABLE'],
    ['a write that was not sent', true, false, 'UNAVAILABLE'],
    ['a write that may have taken effect', true, true, 'OUTCOME_UNKNOWN'],
  ])('maps %s', async (_what, changes, sent, code) => {
    const error = lost(sent);
    const mapped = { code, status: 503, retryAfterSeconds: 1, cause: error };
    await expect(mapOutages(failing(error), { changes })).rejects.toMatchObject(mapped);
    // Whether the database answers now does not matter.
    await expect(mapOutages(failing(error), { changes, isReachable: back })).rejects.toMatchObject(mapped);
  });

  it('uses the given detail and advice, also for a synchronous throw', async () => {
    const atOnce = (): Promise<void> => {
      throw lost(true);
    };
    await expect(mapOutages(atOnce, { detail: 'The key store is away.' })).rejects.toThrow('The key store is away.');
    await expect(mapOutages(atOnce, { changes: true, advice: 'send it again' })).rejects.toThrow(
      'The database did not say whether the change was made; send it again.',
    );
  });

  it('rethrows refusals and bugs, and returns the result', async () => {
    const refusal = new AppError('NOT_FOUND', 'x');
    await expect(mapOutages(failing(refusal), { isReachable: away })).rejects.toBe(refusal);
    const bug = new TypeError('x');
    await expect(mapOutages(failing(bug))).rejects.toBe(bug);
    await expect(mapOutages(failing(bug), { isReachable: back })).rejects.toBe(bug);
    await expect(mapOutages(() => 7)).resolves.toBe(7);
  });

  it('pings the database for an error of an unknown class', async () => {
    const mapped = (changes: boolean) => mapOutages(failing(new Error('engine')), { changes, isReachable: away });
    await expect(mapped(false)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(mapped(true)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  });

  it.each<[string, string, object]>([
    ['UNAVAILABLE', 'had no server', { code: 'P1001' }],
    ['UNAVAILABLE', 'had no connection of the pool', { code: 'P2024' }],
    ['UNAVAILABLE', 'had a transaction that was over', { code: 'P2028' }],
    ['UNAVAILABLE', 'was not sent', { cause: new DatabaseUnavailableError('Away.', { sent: false }) }],
    ['UNAVAILABLE', 'was cancelled', rawStatement({ kind: 'postgres', originalCode: '57014' })],
    ['UNAVAILABLE', 'met a standby', rawStatement({ kind: 'postgres', originalCode: '25006' })],
    ['OUTCOME_UNKNOWN', 'lost its connection', { code: 'P1017' }],
    ['OUTCOME_UNKNOWN', 'met its deadline', { cause: { code: 'ETIMEDOUT' } }],
    ['OUTCOME_UNKNOWN', 'lost its connection in a raw statement', rawStatement({ kind: 'ConnectionClosed' })],
    ['OUTCOME_UNKNOWN', 'met a server that shut down', rawStatement({ kind: 'postgres', originalCode: '57P01' })],
    ['OUTCOME_UNKNOWN', 'lost its socket', { code: 'EPIPE' }],
    ['OUTCOME_UNKNOWN', 'was cut off', { message: 'Connection terminated unexpectedly' }],
    ['OUTCOME_UNKNOWN', 'was sent', { cause: new DatabaseUnavailableError('Away.', { sent: true }) }],
  ])('tells %s where a write of Prisma %s', async (code, _what, more) => {
    const error = Object.assign(new Error('Transaction API error'), more);
    await expect(mapOutages(failing(error), { changes: true, isReachable: back })).rejects.toMatchObject({ code });
  });

  it.each([
    ['P1001', { code: 'P1001' }],
    ['P1008', { code: 'P1008' }],
    ['P1017', { code: 'P1017' }],
    ['P2024', { code: 'P2024' }],
    ['P2028', { code: 'P2028' }],
    ['our deadline in it', { cause: { code: 'ETIMEDOUT' } }],
    ['a lost connection in a raw statement', rawStatement({ kind: 'SocketTimeout' })],
    ['a cancelled raw statement', rawStatement({ kind: 'postgres', originalCode: '57014' })],
    ['a socket that was reset', { code: 'ECONNRESET' }],
    ['a connection that was cut', { message: 'Connection terminated unexpectedly' }],
    ['a connection that was cut before', { message: 'Client has encountered a connection error and is not queryable' }],
    ['our own error in it', { cause: new DatabaseUnavailableError('Away.', { sent: true }) }],
  ])('treats a lost connection or transaction of Prisma (%s) as an outage', async (_what, more) => {
    const error = Object.assign(new Error('Transaction API error'), more);
    await expect(mapOutages(failing(error), { isReachable: back })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it.each([
    ['PostgreSQL', { code: '40P01' }],
    ['Prisma', { code: 'P2034' }],
    ['a raw statement of Prisma', rawStatement({ originalCode: '40P01' })],
  ])('says that nothing was changed where %s ended a deadlock', async (_what, more) => {
    const error = Object.assign(new Error('deadlock detected'), more);
    const mapped = mapOutages(failing(error), { changes: true });
    await expect(mapped).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('deadlock') });
  });

  it('rethrows a raw statement of Prisma that the database refused', async () => {
    const error = Object.assign(new Error('Raw query failed'), rawStatement({ originalCode: '23505' }));
    await expect(mapOutages(failing(error), { isReachable: back })).rejects.toBe(error);
  });
});

describe('mapRouteOutages', () => {
  const route = (method: string, handler: (given: string) => unknown) => ({
    method,
    path: '/x',
    errors: ['NOT_FOUND' as const],
    handler,
  });
  const ask = (mapped: ReturnType<typeof route>[]) => mapped[0]?.handler('given');

  it('passes the context and the result through', async () => {
    await expect(ask(mapRouteOutages([route('post', (given) => `${given} back`)]))).resolves.toBe('given back');
  });

  it('maps a lost answer to OUTCOME_UNKNOWN for writes only', async () => {
    const fails = failing(lost(true));
    await expect(ask(mapRouteOutages([route('get', fails)]))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    for (const method of ['post', 'put', 'patch', 'delete']) {
      const mapped = mapRouteOutages([route(method, fails)], { advice: 'send it again' });
      await expect(ask(mapped)).rejects.toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        message: expect.stringMatching(/send it again/),
      });
    }
  });

  it('declares OUTCOME_UNKNOWN once, for writes only', () => {
    const [mapped] = mapRouteOutages(mapRouteOutages([route('post', () => 0)]));
    expect(mapped).toMatchObject({ path: '/x', errors: ['NOT_FOUND', 'OUTCOME_UNKNOWN'] });
    expect(mapRouteOutages([route('get', () => 0)])[0]?.errors).toEqual(['NOT_FOUND']);
  });
});

it('isReachable is true if a ping is answered in time', async () => {
  const asked: number[] = [];
  const database = (answer: Promise<void>) => ({ ping: (ms: number) => (asked.push(ms), answer) });
  await expect(isReachable(database(Promise.resolve()), 500)).resolves.toBe(true);
  await expect(isReachable(database(Promise.reject(lost(false))), 400)).resolves.toBe(false);
  expect(asked).toEqual([500, 400]);
});

/** How Prisma reports an error of its adapter in a raw statement. */
function rawStatement(cause: object): object {
  return { code: 'P2010', meta: { driverAdapterError: Object.assign(new Error('x'), { cause }) } };
}
