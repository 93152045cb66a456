import { describe, expect, it } from '@jest/globals';
import type { Asked, Fault, Line } from '../history.ts';
import { signIns } from './sign-ins.ts';
import { asked, verdictOf } from './testing/lines.ts';

/** A sign-in at replica 1, `at` seconds after the beginning. */
const told = (at: number, status: number, code = ''): Asked =>
  asked({
    ...{ surface: 'console', as: 'ada', act: 'signed-in', target: 'GET /signed-in?code=c', replica: 1, status },
    ...{ startedMs: at * 1_000, endedMs: at * 1_000 + 10, text: JSON.stringify({ code }) },
  });
const fault = (name: string, hit: string): Fault => ({
  ...{ is: 'fault', name, hit, did: {}, startedMs: 20_000, healedMs: 30_000 },
});

const broken = async (...lines: Line[]) => (await verdictOf(signIns(), lines)).broken;

describe('sign-ins', () => {
  it('lead on, and are told to be tried again while the provider is away, its replica stopped or its clock off', async () => {
    expect(await verdictOf(signIns(), [told(1, 303)])).toMatchObject({ judged: 1, broken: [] });
    for (const met of [
      fault('provider-away', 'provider'),
      fault('rolling-restart', 'console'),
      fault('clock-off', 'console/1'),
    ])
      expect(await broken(told(25, 503, 'UNAVAILABLE'), met)).toEqual([]);
  });

  it('are broken by an untrue refusal, whatever is broken', async () => {
    const lines = [told(25, 400, 'INVALID_REQUEST'), told(26, 500, 'INTERNAL'), fault('provider-away', 'provider')];
    expect(await broken(...lines)).toEqual([
      'line 1: a sign-in was told 400 INVALID_REQUEST',
      'line 2: a sign-in was told 500 INTERNAL',
    ]);
  });

  it('are broken by a refusal without an outage, or long after it', async () => {
    const breach = ['line 1: a sign-in was told UNAVAILABLE while nothing was broken'];
    expect(await broken(told(1, 503, 'UNAVAILABLE'))).toEqual(breach);
    expect(await broken(told(37, 503, 'UNAVAILABLE'), fault('provider-away', 'provider'))).toEqual(breach);
    expect(await broken(told(35, 503, 'UNAVAILABLE'), fault('provider-away', 'provider'))).toEqual([]);
    expect(await broken(told(25, 503, 'UNAVAILABLE'), fault('process-frozen', 'console/0'))).toEqual(breach);
  });
});
