import { beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { testClock } from '@sealgate/testing';
import { SessionLiveness, type SharedSessions } from './session-liveness.ts';
import type { Session } from './session.ts';

const clock = testClock();
const away = () => Promise.reject(new AppError('UNAVAILABLE', 'away'));

let asked: string[];
let atProvider: (session: Session) => Promise<boolean>;
const sessionOf = (id: string, more: Partial<Session> = {}): Session => ({
  id,
  issuer: 'https://login.example.com',
  subject: 'ada',
  name: undefined,
  email: undefined,
  refreshToken: 'r',
  renewals: 0,
  endsAtMs: clock.now() + 3_600_000,
  ...more,
});
/** A replica. */
const replica = (shared?: SharedSessions, onEnded?: (session: Session) => void) =>
  new SessionLiveness({
    shared,
    now: clock.now,
    ...(onEnded && { onEnded }),
    ask: (session) => {
      asked.push(session.id);
      return atProvider(session);
    },
  });
const store = () => {
  const marks = new Map<string, 'live' | 'ended'>();
  const state = { isAway: false };
  return {
    state,
    lose: () => marks.clear(),
    end: async (id: string) => void marks.set(id, 'ended'),
    confirm: async (id: string) => void marks.set(id, marks.get(id) ?? 'live'),
    find: async (id: string) => {
      if (state.isAway) throw new Error('away');
      return marks.get(id);
    },
  };
};

beforeEach(() => {
  asked = [];
  atProvider = async () => true;
});

describe('a session that was signed out', () => {
  it('is refused by the same replica at once, and by another within ten seconds, by the shared store', async () => {
    const shared = store();
    const [here, there] = [replica(shared), replica(shared)];
    const session = sessionOf('s1');
    expect(await there.isLive(session)).toBe(true);
    await here.end(session);
    expect(await here.isLive(session)).toBe(false);
    clock.advance(10_000);
    expect(await there.isLive(session)).toBe(false);
    // Once, as the store knew nothing of it.
    expect(asked).toEqual(['s1']);
  });

  it('does not come back at any replica because the store lost its data', async () => {
    const shared = store();
    const ended: string[] = [];
    const [here, there] = [replica(shared), replica(shared, ({ id }) => ended.push(id))];
    const [known, unseen] = [sessionOf('known'), sessionOf('unseen')];
    expect(await there.isLive(known)).toBe(true);
    for (const session of [known, unseen]) await here.end(session);
    clock.advance(10_000);
    expect(await there.isLive(known)).toBe(false);
    expect(ended).toEqual(['known']);
    shared.lose();
    clock.advance(60_000);
    const before = asked.length;
    expect(await there.isLive(known)).toBe(false);
    expect(asked).toHaveLength(before);
    atProvider = async () => false;
    expect(await there.isLive(unseen)).toBe(false);
    expect(await replica(shared).isLive(known)).toBe(false);
    expect(ended).toEqual(['known', 'unseen']);
  });

  it('is refused within ten seconds by the provider if there is no store, or it is away', async () => {
    const shared = store();
    for (const there of [replica(), replica(shared)]) {
      atProvider = async () => true;
      shared.state.isAway = true;
      const session = sessionOf('s1');
      expect(await there.isLive(session)).toBe(true);
      atProvider = async () => false;
      clock.advance(10_000);
      expect(await there.isLive(session)).toBe(false);
    }
  });

  it('stays ended here if the store forgets it', async () => {
    const here = replica(store());
    const session = sessionOf('s1');
    await here.end(session);
    clock.advance(60_000);
    expect(await here.isLive(session)).toBe(false);
  });

  it('is refused to a request that was being judged meanwhile', async () => {
    const here = replica();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    atProvider = () => promise;
    const session = sessionOf('s1');
    const judged = here.isLive(session);
    await here.end(session);
    resolve(true);
    expect(await judged).toBe(false);
  });
});

describe('the provider', () => {
  it('is asked once for concurrent requests, and at most every ten seconds', async () => {
    const here = replica();
    const session = sessionOf('s1');
    expect(await Promise.all(Array.from({ length: 20 }, () => here.isLive(session)))).toEqual(Array(20).fill(true));
    clock.advance(9_999);
    await here.isLive(session);
    expect(asked).toHaveLength(1);
    clock.advance(1);
    await here.isLive(session);
    expect(asked).toHaveLength(2);
  });

  it('is asked no more often while the store is away', async () => {
    const shared = store();
    shared.state.isAway = true;
    const here = replica(shared);
    for (let second = 0; second < 10; second += 1) {
      expect(await here.isLive(sessionOf('s1'))).toBe(true);
      clock.advance(1_000);
    }
    expect(asked).toHaveLength(1);
  });

  it('is not asked while the store has a mark of its last confirmation', async () => {
    const shared = store();
    expect(await replica(shared).isLive(sessionOf('s1'))).toBe(true);
    expect(await replica(shared).isLive(sessionOf('s1'))).toBe(true);
    expect(asked).toHaveLength(1);
  });

  it('is not asked after it issued a token', async () => {
    const here = replica();
    here.confirm(sessionOf('s1'));
    expect(await here.isLive(sessionOf('s1'))).toBe(true);
    expect(asked).toEqual([]);
  });

  it('is asked again for a newer cookie of a session that it refused', async () => {
    const here = replica();
    atProvider = async ({ renewals }) => renewals > 0;
    expect(await here.isLive(sessionOf('s1'))).toBe(false);
    expect(await here.isLive(sessionOf('s1', { renewals: 1 }))).toBe(true);
  });

  it('that is away lets a confirmed session go on for five minutes, and no other', async () => {
    const here = replica();
    here.confirm(sessionOf('s1'));
    atProvider = away;
    clock.advance(10_000);
    expect(await here.isLive(sessionOf('s1'))).toBe(true);
    await expect(here.isLive(sessionOf('unseen'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    clock.advance(290_001);
    await expect(here.isLive(sessionOf('s1'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    atProvider = async () => true;
    expect(await here.isLive(sessionOf('unseen'))).toBe(true);
  });
});

it('memory stays bounded', async () => {
  const here = replica();
  for (let number = 0; number < 12_000; number += 1) await here.end(sessionOf(`s${number}`));
  expect(await here.isLive(sessionOf('s11999'))).toBe(false);
  expect(asked).toEqual([]);
  expect(await here.isLive(sessionOf('s0'))).toBe(true);
  expect(asked).toEqual(['s0']);
});
