import { beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { testClock } from '@sealgate/testing';
import { OpenPassages } from './open-passages.ts';
import type { Session } from './session.ts';

const clock = testClock();
const { signal } = new AbortController();
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

let asked: string[];
let isLive: (session: Session) => Promise<boolean>;
let newest: Map<string, Session>;
let passages: OpenPassages;
let cut: string[];
const open = (session: Session, name = session.id) => passages.open({ session, cut: () => cut.push(name) });

beforeEach(() => {
  [asked, cut, newest] = [[], [], new Map()];
  isLive = async () => true;
  passages = new OpenPassages({
    isLive(session) {
      asked.push(`${session.id} ${session.renewals}`);
      return isLive(session);
    },
    current: (session) => newest.get(session.id) ?? session,
    now: clock.now,
  });
});

describe('the end of a session', () => {
  it('cuts all its open passages, those of no other, and none that is over', () => {
    const session = sessionOf('s1');
    const close = open(session, 'over');
    for (const name of ['one', 'two']) open(session, name);
    open(sessionOf('s2'));
    close();
    passages.end(session);
    expect(cut).toEqual(['one', 'two']);
  });

  it('meets a passage that could not be cut yet again, at the next check', async () => {
    const session = sessionOf('s1');
    const close = open(session);
    isLive = async () => false;
    passages.end(session);
    await passages.check(signal);
    expect(cut).toEqual(['s1', 's1']);
    close();
    close();
    await passages.check(signal);
    expect([cut.length, passages.size]).toEqual([2, 0]);
  });
});

describe('a check', () => {
  it('asks once for each session with an open passage, by its newest refresh token', async () => {
    for (const renewals of [0, 2, 1]) open(sessionOf('s1', { renewals }));
    open(sessionOf('s2'));
    newest.set('s2', sessionOf('s2', { renewals: 5 }));
    await passages.check(signal);
    // It was renewed here, and then this process forgot it.
    newest.clear();
    await passages.check(signal);
    expect(asked.sort()).toEqual(['s1 2', 's1 2', 's2 5', 's2 5']);
    expect(cut).toEqual([]);
  });

  it('cuts the passages of a session that ended elsewhere, or has reached its maximum lifetime', async () => {
    open(sessionOf('ended'));
    open(sessionOf('live'));
    open(sessionOf('old', { endsAtMs: clock.now() + 5_000 }));
    isLive = async ({ id }) => id !== 'ended';
    clock.advance(5_000);
    await passages.check(signal);
    expect(cut.sort()).toEqual(['ended', 'old']);
  });

  it('cuts the passages of a session that nobody can tell of', async () => {
    open(sessionOf('s1'));
    isLive = () => Promise.reject(new AppError('UNAVAILABLE', 'away'));
    await passages.check(signal);
    expect(cut).toEqual(['s1']);
  });

  it.each(['OVERLOADED', 'RATE_LIMITED'] as const)('bears %s for a minute', async (code) => {
    open(sessionOf('s1'));
    clock.advance(30_000);
    await passages.check(signal);
    isLive = () => Promise.reject(new AppError(code, 'busy'));
    clock.advance(59_999);
    await passages.check(signal);
    expect(cut).toEqual([]);
    clock.advance(1);
    await passages.check(signal);
    expect(cut).toEqual(['s1']);
  });

  it('judges all others, and then fails, if one cannot be judged because of a defect', async () => {
    for (let number = 0; number < 20; number += 1) open(sessionOf(`s${number}`));
    isLive = ({ id }) => (id === 's19' ? Promise.reject(new TypeError('a defect')) : Promise.resolve(true));
    await expect(passages.check(signal)).rejects.toThrow('a defect');
    expect(asked).toHaveLength(20);
    expect(cut).toEqual(['s19']);
  });

  it('judges at most eight sessions at the same time, and no more once the process stops', async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    for (let number = 0; number < 100; number += 1) open(sessionOf(`s${number}`));
    isLive = async () => {
      await answered;
      return true;
    };
    const stopping = new AbortController();
    const checked = passages.check(stopping.signal);
    expect(asked).toHaveLength(8);
    stopping.abort();
    answer();
    await checked;
    expect(asked).toHaveLength(8);
  });
});
