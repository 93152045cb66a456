import { beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { AppError } from '@sealgate/errors';
import { expectProblem } from '@sealgate/testing';
import { LIMIT_HEADERS, plain, testRoute, testSurface } from '../test/test-surface.ts';
import { CallerChangedError, type AuthRequest, type Guard, type HandlerContext, type Reply } from './index.ts';

interface VersionedCaller {
  readonly name: string;
  readonly permissions: readonly string[];
  readonly version: number;
}

type Context = HandlerContext<VersionedCaller, unknown, unknown, unknown>;

const known: VersionedCaller = { name: 'good', permissions: ['things:write'], version: 1 };
/** The caller that the guard's look-up finds, if any, and the one it remembers. */
let live: VersionedCaller | undefined;
let remembered: VersionedCaller | undefined;
/** Results of the next charges; true when used up. */
let admissions: boolean[];
let asked: string[];

beforeEach(() => {
  live = known;
  remembered = known;
  admissions = [];
  asked = [];
});

const guard: Partial<Guard<VersionedCaller>> = {
  authenticate: async () => {
    asked.push('look-up');
    if (live === undefined) throw new AppError('UNAUTHENTICATED', 'No such key.');
    return live;
  },
  lately: {
    find: (of: AuthRequest) => (of.header('x-api-key')[0] === 'good' ? remembered : undefined),
    isUnchanged: (before, now) => before.version === now.version,
  },
  charge: async () => {
    const admitted = admissions.shift() ?? true;
    asked.push(`charge ${admitted}`);
    return { admitted, headers: LIMIT_HEADERS, retryAfterSeconds: admitted ? 0 : 3 };
  },
};

const surfaceOf = (handler: (context: Context) => Promise<Reply>, members: object = {}) =>
  testSurface(
    [
      testRoute({
        ...plain,
        method: 'post',
        path: '/x',
        permit: 'byHandler',
        charge: 'byHandler',
        body: 'json-bytes',
        bodyMaxBytes: 100,
        confirmsCaller: true,
        ...members,
        handler: handler as never,
      }),
    ],
    { guardChanges: guard },
  );

const post = ({ app }: ReturnType<typeof surfaceOf>, body = '{}') =>
  request(app).post('/x').set('X-Api-Key', 'good').type('json').send(body);

/** Writes like an effect that confirms its caller: `stale` lists the versions it refuses. */
const writing =
  (written: number[], stale: readonly number[] = []) =>
  async (context: Context): Promise<Reply> => {
    context.permit('things:write');
    await context.charge(1);
    const { caller, isProvisional } = context;
    if (isProvisional && stale.includes(caller.version)) throw new CallerChangedError();
    written.push(caller.version);
    context.callerIsConfirmed();
    return { status: 200, body: { version: caller.version } };
  };

describe('a provisional caller', () => {
  it('is not looked up again if the effect confirms it', async () => {
    const written: number[] = [];
    const response = await post(surfaceOf(writing(written)));
    expect([response.status, written, asked]).toEqual([200, [1], ['charge true']]);
  });

  it('is not used on routes without confirmsCaller, or when not known', async () => {
    const answer = async (context: Context) => {
      context.permit('things:write');
      await context.charge(1);
      return { status: 200, body: { isProvisional: context.isProvisional } };
    };
    expect((await post(surfaceOf(answer, { confirmsCaller: undefined }))).body).toEqual({ isProvisional: false });
    remembered = undefined;
    expect((await post(surfaceOf(answer))).body).toEqual({ isProvisional: false });
    expect(asked.filter((one) => one === 'look-up')).toHaveLength(2);
  });

  it('is looked up before an unconfirmed answer: 401 if the key is gone', async () => {
    const surface = surfaceOf(async (context) => {
      context.permit('things:write');
      await context.charge(1);
      return { status: 200, body: { replayed: true } };
    });
    expect((await post(surface)).status).toBe(200);
    expect(asked).toEqual(['charge true', 'look-up']);
    live = undefined;
    const response = await post(surface);
    expectProblem(response, 'UNAUTHENTICATED');
    expect(response.headers['ratelimit']).toBeUndefined();
  });

  it('is looked up before an effect that cannot confirm it; no effect if the key is gone', async () => {
    const effects: string[] = [];
    const surface = surfaceOf(async (context) => {
      await context.confirmCaller();
      context.permit('things:write');
      await context.charge(1);
      effects.push(context.isProvisional ? 'guessed' : 'looked up');
      return { status: 200, body: {} };
    });
    await post(surface);
    live = undefined;
    expectProblem(await post(surface), 'UNAUTHENTICATED');
    expect(effects).toEqual(['looked up']);
  });

  it('that was revoked is 401, and nothing is written, if the effect finds its version stale', async () => {
    const written: number[] = [];
    live = undefined;
    const surface = surfaceOf(writing(written, [1]));
    expectProblem(await post(surface), 'UNAUTHENTICATED');
    expect(written).toEqual([]);
    expect(surface.lines).toEqual([]);
  });

  it('that has changed is served as it is now, and charged once', async () => {
    const written: number[] = [];
    live = { ...known, version: 2 };
    const response = await post(surfaceOf(writing(written, [1])));
    expect([response.status, response.body, written]).toEqual([200, { version: 2 }, [2]]);
    expect(asked).toEqual(['charge true', 'look-up']);
  });

  it('that is unchanged continues if its version was stale only briefly', async () => {
    const written: number[] = [];
    expect((await post(surfaceOf(writing(written, [1])))).status).toBe(200);
    expect(written).toEqual([1]);
  });
});

describe('a refusal of a provisional caller', () => {
  it('is sent after a look-up, without a retry: an unadmitted charge stays refused', async () => {
    const written: number[] = [];
    admissions = [false, true];
    expectProblem(await post(surfaceOf(writing(written))), 'RATE_LIMITED');
    expect([written, asked]).toEqual([[], ['charge false', 'look-up']]);
  });

  it('is decided anew if the caller has changed, by current limits and permissions', async () => {
    const written: number[] = [];
    admissions = [false, true];
    live = { ...known, version: 2 };
    expect((await post(surfaceOf(writing(written)))).status).toBe(200);
    remembered = { ...known, permissions: [] };
    expect((await post(surfaceOf(writing(written)))).status).toBe(200);
    expect(written).toEqual([2, 2]);
    remembered = known;
    live = { ...known, permissions: [], version: 3 };
    expectProblem(await post(surfaceOf(writing(written, [1]))), 'FORBIDDEN');
    expect(written).toEqual([2, 2]);
  });

  it('is 401 if the key is gone, whatever the refusal was', async () => {
    live = undefined;
    admissions = [false];
    expectProblem(await post(surfaceOf(writing([]))), 'UNAUTHENTICATED');
    const late = surfaceOf(writing([]), {
      precheck: () => {
        throw new AppError('FORBIDDEN', 'Not this network.');
      },
    });
    expectProblem(await post(late), 'UNAUTHENTICATED');
    expectProblem(await post(surfaceOf(writing([])), 'x'.repeat(101)), 'UNAUTHENTICATED');
  });

  it('for a fault of the body is sent after a look-up, even if the caller has changed', async () => {
    live = { ...known, version: 2 };
    expectProblem(await post(surfaceOf(writing([])), 'x'.repeat(101)), 'PAYLOAD_TOO_LARGE');
    expect(asked).toEqual(['look-up']);
  });

  it("by the caller's body limit waits for a look-up while the body can still be read", async () => {
    const members = {
      bodyTerms: ({ caller }: { readonly caller: VersionedCaller }) =>
        caller.permissions.includes('things:write') ? {} : { maxBytes: 10 },
    };
    const written: number[] = [];
    remembered = { ...known, permissions: [] };
    live = { ...known, version: 2 };
    expect((await post(surfaceOf(writing(written), members), '"more than ten"')).status).toBe(200);
    live = remembered;
    expectProblem(await post(surfaceOf(writing(written), members), '"more than ten"'), 'PAYLOAD_TOO_LARGE');
    expect(written).toEqual([2]);
  });
});

describe('a failure on our side', () => {
  it.each([
    ['LEDGER_UNAVAILABLE', () => new AppError('LEDGER_UNAVAILABLE', 'Away.', { retryAfterSeconds: 1 })],
    ['INTERNAL', () => new TypeError('x')],
  ] as const)('is reported unchanged: %s', async (code, problem) => {
    const surface = surfaceOf(async () => {
      throw problem();
    });
    expectProblem(await post(surface), code);
    expect(asked).toEqual([]);
  });

  it('of the key store is not reported as a refusal of the caller', async () => {
    admissions = [false];
    const away = {
      ...guard,
      authenticate: () => Promise.reject(new AppError('UNAVAILABLE', 'Away.', { retryAfterSeconds: 1 })),
    };
    const { app } = testSurface(
      [
        testRoute({
          ...plain,
          method: 'post',
          path: '/x',
          permit: 'things:write',
          charge: 1,
          confirmsCaller: true,
          handler: async () => ({ status: 200 }),
        }),
      ],
      { guardChanges: away },
    );
    expectProblem(await request(app).post('/x').set('X-Api-Key', 'good'), 'UNAVAILABLE');
  });
});

describe('a credential', () => {
  it('that is sent twice is refused, known or not', async () => {
    const surface = surfaceOf(writing([]));
    expectProblem(await post(surface).set('Authorization', ['a', 'b'] as never), 'UNAUTHENTICATED');
  });
});

it.each([
  ['open', { permit: 'open', charge: 'none' }],
  ['raw', { raw: true }],
])('a route with confirmsCaller that is %s prevents the start', (_, members) => {
  expect(() => surfaceOf(writing([]), members)).toThrow('confirmsCaller needs a guard, and no prefetch or raw');
});
