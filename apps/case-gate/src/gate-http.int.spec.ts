import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { until } from '@sealgate/testing';
import { check, gateSite, sealedCase, SETUP_MS, type Answer, type RunningGate } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
let subjectRef: string;
beforeAll(async () => {
  site = await gateSite();
  ({ key } = site);
  ({ subjectRef } = await sealedCase(site, key));
}, SETUP_MS);
afterAll(() => site.stop());

const GATE = '/v1/gate/check';
const PATHS = [GATE, '/access/v1/evaluation', '/access/v1/evaluations'];

/** Expects an answer to be a denial in the format of its path. */
function expectDenied(path: string, { body }: Answer): void {
  if (path === GATE) expect(body).toMatchObject({ decision: 'deny', allow: false, reason_codes: [expect.any(String)] });
  else expect(body).toMatchObject({ decision: false });
}

describe('every refusal on the gate path is a deny', () => {
  it.each(PATHS)('%s', async (path) => {
    const poor = await site.newKey(['case:read']);
    const text = (body: string, headers = {}) => site.ask('POST', path, { key, raw: body, headers });
    const answers: [number, Answer][] = [
      [405, await site.ask('GET', path, { key })],
      [405, await site.ask('PUT', path, { key, body: {} })],
      [405, await site.ask('PATCH', path, { key, body: {} })],
      [405, await site.ask('DELETE', path, { key })],
      [405, await site.ask('OPTIONS', path, { key })],
      [401, await site.ask('POST', path, { body: {} })],
      [401, await site.ask('POST', path, { key: `gk_${'x'.repeat(43)}`, body: {} })],
      [401, await site.ask('POST', path, { body: {}, headers: { 'x-api-key': key } })],
      [403, await site.ask('POST', path, { key: poor, raw: '{' })],
      [
        path === GATE ? 415 : 400,
        await site.ask('POST', path, { key, raw: '{}', headers: { 'content-type': 'text/plain' } }),
      ],
      [415, await text('{}', { 'content-encoding': 'zstd' })],
      [413, await text(`{"context":{"a":"${'x'.repeat(262_144)}"}}`)],
      [400, await text('')],
      [400, await text('{')],
      [400, await text('{"a":1,"a":2}')],
      [400, await text('{"subject_ref":1}')],
      [400, await text('[]')],
      [400, await text('null')],
      [400, await text(`${'['.repeat(65)}${']'.repeat(65)}`)],
      [400, await site.ask('POST', `${path}?x=1`, { key, body: {} })],
    ];
    for (const [status, answer] of answers) {
      expect({ status: answer.status, text: answer.text }).toMatchObject({ status });
      expectDenied(path, answer);
    }
    // A misspelt path is not served and allows nothing.
    for (const misspelt of [`${path}/`, path.toUpperCase(), `/${path}`, `${path}x`]) {
      const answer = await site.ask('POST', misspelt, { key, body: { subject_ref: subjectRef, venue_id: 'hall' } });
      expect(answer.status).toBe(404);
      expect(answer.text).not.toMatch(/allow":true|decision":true|"allow"/);
    }
  });

  it('429', async () => {
    const slow = await site.replica({
      GATE_RATE_PER_SECOND: '1',
      GATE_RATE_BURST: '1',
      RATE_PER_SECOND: '1',
      RATE_BURST: '1',
    });
    const body = { subject_ref: subjectRef, venue_id: 'hall' };
    const first = await slow.ask('POST', GATE, { key, body });
    expect(first.headers['ratelimit-policy']).toBe('"key";q=1;w=1');
    const second = await slow.ask('POST', GATE, { key, body });
    expect(second).toMatchObject({
      status: 429,
      body: { decision: 'deny', allow: false, reason_codes: ['RATE_LIMITED'] },
    });
    expect(second.headers['retry-after']).toMatch(/^[1-9]/);
    // The other endpoints have their own bucket.
    expect((await slow.ask('GET', '/v1/eligibility/subj_a', { key })).status).toBe(404);
  });

  it('408, after the two seconds of the body timeout', async () => {
    const { hostname, port } = new URL(site.url);
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('utf8')));
    const startedMs = performance.now();
    socket.write(
      `POST ${GATE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{`,
    );
    await until(() => answer.includes('"allow":false'), { timeoutMs: 6000 });
    expect(performance.now() - startedMs).toBeGreaterThan(1900);
    expect(answer).toContain('HTTP/1.1 408');
    expect(answer).toContain('"decision":"deny"');
    socket.destroy();
  }, 10_000);
});

describe('a client without a valid key', () => {
  it('cannot fill the queue of look-ups: known keys are allowed throughout', async () => {
    expect(await check(site, key, subjectRef)).toBe('allow ELIGIBLE');
    const evaluation = { subject: { type: 'subject', id: subjectRef }, resource: { type: 'venue', id: 'hall' } };
    const raw = JSON.stringify({
      action: { name: 'enter' },
      evaluations: Array.from({ length: 50 }, () => evaluation),
    });
    const flood = Array.from({ length: 150 }, async () => {
      const stranger = `gk_${randomBytes(32).toString('base64url')}`;
      return (await site.ask('POST', '/access/v1/evaluations', { key: stranger, raw })).status;
    });
    const checks = Array.from({ length: 50 }, () => check(site, key, subjectRef));
    expect(new Set(await Promise.all(checks))).toEqual(new Set(['allow ELIGIBLE']));
    expect(new Set(await Promise.all(flood))).toEqual(new Set([401, 429]));
  });

  it('gets the same answer on the first use of a new key', async () => {
    const [fresh, replica] = [await site.newKey(), await site.replica()];
    const answers = [await check(replica, fresh, subjectRef), await check(replica, fresh, subjectRef)];
    expect(answers).toEqual(['allow ELIGIBLE', 'allow ELIGIBLE']);
  });
});

it('a gate body holds 16,384 bytes, a batch of AuthZEN 262,144', async () => {
  const body = JSON.stringify({ subject_ref: subjectRef, venue_id: 'hall' });
  const padded = (bytes: number) => body.padEnd(bytes, ' ');
  expect((await site.ask('POST', GATE, { key, raw: padded(16_384) })).body.allow).toBe(true);
  const refused = await site.ask('POST', GATE, { key, raw: padded(16_385) });
  expect(refused).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE', allow: false } });
  const list = JSON.stringify({ evaluations: [] });
  expect((await site.ask('POST', PATHS[2]!, { key, raw: list.padEnd(262_144, ' ') })).status).toBe(400);
  expect((await site.ask('POST', PATHS[2]!, { key, raw: list.padEnd(262_145, ' ') })).status).toBe(413);
});

describe('a bug on the gate path is a deny', () => {
  const bodies: Readonly<Record<string, (subject: string) => object>> = {
    [GATE]: (subject) => ({ subject_ref: subject, venue_id: 'hall' }),
    '/access/v1/evaluation': question,
    '/access/v1/evaluations': (subject) => ({ evaluations: [question(subject)] }),
  };
  function question(subject: string) {
    const resource = { type: 'venue', id: 'hall' };
    return { subject: { type: 'subject', id: subject }, resource, action: { name: 'enter' } };
  }

  async function expect500(gate: RunningGate, path: string): Promise<void> {
    const answer = await gate.ask('POST', path, { key, body: bodies[path]!(subjectRef) });
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 500 });
    expect(answer.headers['content-type']).toBe('application/problem+json');
    const reasons = { reason_codes: ['INTERNAL'], fail_closed: true };
    expect(answer.body).toMatchObject({
      code: 'INTERNAL',
      ...(path === GATE ? { decision: 'deny', allow: false, ...reasons } : { decision: false, context: reasons }),
    });
    expect(answer.text).not.toMatch(/seeded|venues|column/);
    await until(() => gate.logLines.some((line) => line.includes('request_failed')));
  }

  it.each(PATHS)('%s, where the answer of the database is read', async (path) => {
    // Neither unavailable, missing nor forbidden: a statement that fails while running is a bug.
    await site.sql.query({ text: 'ALTER TABLE gate.venues RENAME TO venues_kept' });
    const failing = 'SELECT * FROM gate.venues_kept WHERE 1 / (length(name) - length(name)) = 0';
    await site.sql.query({ text: `CREATE VIEW gate.venues AS ${failing}` });
    try {
      await expect500(site, path);
    } finally {
      await site.sql.query({ text: 'DROP VIEW gate.venues' });
      await site.sql.query({ text: 'ALTER TABLE gate.venues_kept RENAME TO venues' });
    }
    await until(async () => (await check(site, key, subjectRef)) === 'allow ELIGIBLE');
  });

  it.each(PATHS)('%s, after everything was decided', async (path) => {
    const gate = await site.replica({}, (basics) => ({
      ...basics,
      counters: {
        ...basics.counters,
        decided() {
          throw new Error('A seeded bug.');
        },
      },
    }));
    await expect500(gate, path);
  });
});

describe('a request with anything missing, null or mistyped', () => {
  it('is deny or 400', async () => {
    const good: Record<string, unknown> = {
      subject_ref: subjectRef,
      venue_id: 'hall',
      action: 'enter',
      policy_version: 'p1',
      context: { a: 1 },
    };
    expect(await check(site, key, subjectRef, good)).toBe('allow ELIGIBLE');
    const wrong = [
      null,
      true,
      0,
      1,
      '',
      ' ',
      [],
      {},
      [subjectRef],
      { id: subjectRef },
      'subj_',
      '*',
      '../hall',
      'hall\n',
      `${subjectRef} `,
    ];
    for (const name of Object.keys(good)) {
      for (const value of wrong) {
        if (name === 'context' && typeof value === 'object' && value !== null && !Array.isArray(value)) continue;
        const answer = await site.ask('POST', GATE, { key, body: { ...good, [name]: value } });
        expect({ name, value, allow: answer.body.allow }).toEqual({ name, value, allow: false });
      }
    }
    for (const name of ['subject_ref', 'venue_id']) {
      const { [name]: _, ...rest } = good;
      expect((await site.ask('POST', GATE, { key, body: rest })).status).toBe(400);
    }
    expect((await site.ask('POST', GATE, { key, body: { ...good, extra: 1 } })).status).toBe(400);
  });

  it('is deny or 400 for random bodies', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (body) => {
        const answer = await site.ask('POST', GATE, { key, raw: JSON.stringify(body) });
        expect(answer.body).toMatchObject({ decision: 'deny', allow: false });
      }),
      { numRuns: 150 },
    );
  });

  it('has a context of at most 4 KiB, which is neither evaluated nor logged', async () => {
    const context = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });
    expect(await check(site, key, subjectRef, { context: context(4096) })).toBe('allow ELIGIBLE');
    expect(await check(site, key, subjectRef, { context: context(4097) })).toBe('deny INVALID_REQUEST');
    await check(site, key, subjectRef, { context: { secret: 'never-to-be-seen' } });
    await until(
      async () => (await site.admin('GET', `/decisions?subject_ref=${subjectRef}&limit=1`)).body.items.length === 1,
    );
    expect(site.logLines.join('\n')).not.toContain('never-to-be-seen');
  });
});

describe('the deadline', () => {
  it('denies a late check, even if everything else would allow', async () => {
    const replica = await site.replica({ GATE_DEADLINE_MS: '300' });
    const blocker = site.sql.transaction(async (sql) => {
      await sql.query({ text: 'LOCK TABLE gate.eligibility IN ACCESS EXCLUSIVE MODE' });
      const startedMs = performance.now();
      const body = { subject_ref: subjectRef, venue_id: 'hall' };
      const answer = await replica.ask('POST', GATE, { key, body });
      expect(answer).toMatchObject({
        status: 503,
        body: {
          code: 'UNAVAILABLE',
          decision: 'deny',
          allow: false,
          reason_codes: ['BACKEND_UNAVAILABLE'],
          fail_closed: true,
        },
      });
      expect(answer.headers['retry-after']).toBe('1');
      expect(performance.now() - startedMs).toBeLessThan(700);
    });
    await blocker;
    await until(async () => (await check(replica, key, subjectRef)) === 'allow ELIGIBLE');
  });
});
