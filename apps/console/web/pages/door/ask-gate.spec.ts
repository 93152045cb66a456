import { describe, expect, it } from '@jest/globals';
import { askGate, DOOR_DEADLINE_MS } from './ask-gate.ts';

const question = { subjectRef: 'subj_ada', venueId: 'hall' };

const allow = {
  decision: 'allow',
  allow: true,
  decision_id: 'gd_1',
  subject_ref: 'subj_ada',
  venue_id: 'hall',
  reason_codes: ['ELIGIBLE'],
  evaluated_at: '2026-01-01T00:00:00.000Z',
  valid_until: null,
  fail_closed: false,
};

const answering = (response: () => Response | Promise<Response>, times: readonly number[] = [0, 1]) => {
  const left = [...times];
  return { fetch: () => Promise.resolve().then(response), elapsed: () => left.shift()! };
};

describe('asking the gate', () => {
  it('sends the key and the request, and no cookie', async () => {
    const sent: RequestInit[] = [];
    const ports = answering(() => Response.json(allow));
    const fetch = (url: unknown, init?: RequestInit) => {
      expect(url).toBe('/api/case-gate/v1/gate/check');
      sent.push(init!);
      return ports.fetch();
    };
    await expect(askGate({ ...ports, fetch }, 'gk_1', question)).resolves.toMatchObject({ decision: 'allow' });
    expect(sent).toMatchObject([
      {
        method: 'POST',
        headers: { 'X-Api-Key': 'gk_1', 'X-Sealgate-Console': '1' },
        body: '{"subject_ref":"subj_ada","venue_id":"hall"}',
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
      },
    ]);
  });

  it.each<[string, () => Response | Promise<Response>, string]>([
    ['there is no network', () => Promise.reject(new TypeError('Failed to fetch')), 'NO_NETWORK'],
    ['nobody answers in time', () => Promise.reject(new DOMException('late', 'TimeoutError')), 'TOO_SLOW'],
    [
      'the answer is HTML',
      () => new Response('<p>allow</p>', { headers: { 'Content-Type': 'text/html' } }),
      'BAD_ANSWER',
    ],
    ['an allow is not JSON by its type', () => new Response(JSON.stringify(allow)), 'BAD_ANSWER'],
    [
      'the answer is cut off',
      () => new Response('{"decision":"allow"', { headers: { 'Content-Type': 'application/json' } }),
      'BAD_ANSWER',
    ],
    ['the key is refused', () => Response.json({ code: 'UNAUTHENTICATED' }, { status: 401 }), 'KEY_REFUSED'],
  ])('denies if %s', async (_, response, code) => {
    await expect(askGate(answering(response), 'gk_1', question)).resolves.toMatchObject({ decision: 'deny', code });
  });

  it('denies an allow that came too late', async () => {
    const ports = answering(() => Response.json(allow), [10, 11 + DOOR_DEADLINE_MS]);
    await expect(askGate(ports, 'gk_1', question)).resolves.toMatchObject({ decision: 'deny', code: 'TOO_SLOW' });
  });
});
