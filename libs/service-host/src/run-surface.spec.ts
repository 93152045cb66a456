import { describe, expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import { readiness } from './run-surface.ts';

type Ledger = Awaited<ReturnType<Parameters<typeof readiness>[0]['ledger']>>;

const CONNECTIONS = { decide: 7, look: 3, background: 2 };

function setUp() {
  const clock = testClock();
  const asked: string[] = [];
  const state = { fault: undefined as string | undefined, ledger: { ok: true, problem: null } as Ledger };
  const limits = { state: 'shared', isSettled: true };
  const redis = { problem: undefined as string | undefined };
  const ready = readiness({
    database: () => (asked.push('database'), Promise.resolve(state.fault)),
    ledger: () => (asked.push('ledger'), Promise.resolve(state.ledger)),
    limits,
    redisProblem: () => redis.problem,
    connections: CONNECTIONS,
    otherwise: 'nothing answers',
    deadlineMs: 20,
    now: clock.now,
  });
  return { clock, asked, state, limits, redis, ready };
}

describe('readiness', () => {
  it('is ready if database and ledger are, and reports the current state of the limits', async () => {
    const { asked, limits, ready } = setUp();
    expect(await ready()).toEqual({ ok: true, body: { status: 'ready', limits: 'shared', connections: CONNECTIONS } });
    limits.state = 'local';
    expect(await ready()).toEqual({ ok: true, body: { status: 'ready', limits: 'local', connections: CONNECTIONS } });
    expect(asked).toEqual(['database', 'ledger']);
  });

  it('stays ready while Redis cannot be used, and says why', async () => {
    const { limits, redis, ready } = setUp();
    Object.assign(limits, { state: 'local' });
    redis.problem = 'Redis refuses the password, or the user, of REDIS_URL';
    const body = { status: 'ready', limits: 'local', redis: redis.problem, connections: CONNECTIONS };
    expect(await ready()).toEqual({ ok: true, body });
  });

  it('is not ready before the limits are settled, which is not remembered', async () => {
    const { limits, ready } = setUp();
    limits.isSettled = false;
    const problem = 'the limits wait for the first answer of Redis';
    expect(await ready()).toEqual({ ok: false, body: { status: 'not ready', problem } });
    limits.isSettled = true;
    expect(await ready()).toMatchObject({ ok: true });
  });

  it('stays ready if the ledger works but reports a problem', async () => {
    const { state, ready } = setUp();
    state.ledger = { ok: true, problem: 'demo.main is halted', contracts: [] };
    const body = {
      status: 'ready',
      problem: 'demo.main is halted',
      contracts: [],
      limits: 'shared',
      connections: CONNECTIONS,
    };
    expect(await ready()).toEqual({ ok: true, body });
  });

  it('is not ready, and says why, if the ledger or the database is unavailable', async () => {
    const { clock, asked, state, ready } = setUp();
    state.ledger = { ok: false, problem: 'no peer answers' };
    expect(await ready()).toEqual({ ok: false, body: { status: 'not ready', problem: 'no peer answers' } });
    clock.advance(1_000);
    state.fault = 'the database is away';
    expect(await ready()).toEqual({ ok: false, body: { status: 'not ready', problem: 'the database is away' } });
    expect(asked).toEqual(['database', 'ledger', 'database']);
  });

  it('is not ready if a check times out', async () => {
    const { clock } = setUp();
    const never = () => new Promise<never>(() => undefined);
    const limits = { state: 'shared', isSettled: true };
    const given = {
      database: never,
      ledger: never,
      limits,
      redisProblem: () => undefined,
      otherwise: 'nothing answers',
      deadlineMs: 5,
    };
    const ready = readiness({ ...given, connections: CONNECTIONS, now: clock.now });
    expect(await ready()).toEqual({ ok: false, body: { status: 'not ready', problem: 'nothing answers' } });
  });
});
