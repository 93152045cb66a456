import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { gateSite, sealedCase, SETUP_MS } from '../test/running-gate.ts';

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

describe('AuthZEN', () => {
  const evaluation = (more: object = {}) => ({
    subject: { type: 'subject', id: subjectRef },
    resource: { type: 'venue', id: 'hall' },
    action: { name: 'enter' },
    ...more,
  });
  const ask = (path: string, body: unknown, headers = {}) =>
    site.ask('POST', `/access/v1/${path}`, { key, body, headers });

  it('gives the same answers, with reason and id in the context', async () => {
    const allowed = await ask('evaluation', evaluation({ unknown: 1, context: { time: 'now' } }), {
      'x-request-id': 'abc',
    });
    expect(allowed).toMatchObject({
      status: 200,
      body: { decision: true, context: { reason_codes: ['ELIGIBLE'], decision_id: expect.stringMatching(/^gd_/) } },
    });
    expect(allowed.headers['x-request-id']).toBe('abc');
    expect(allowed.headers['cache-control']).toBe('no-store');
  });

  it.each<[string, object]>([
    ['another type of subject', { subject: { type: 'user', id: 'x' } }],
    ['another type of resource', { resource: { type: 'door', id: 'hall' } }],
    ['another action', { action: { name: 'leave' } }],
    ['an id that no subject has', { subject: { type: 'subject', id: 'Ada Lovelace' } }],
    ['a venue that is unknown', { resource: { type: 'venue', id: 'nowhere' } }],
  ])('is false for %s', async (_, more) => {
    expect(await ask('evaluation', evaluation(more))).toMatchObject({ status: 200, body: { decision: false } });
  });

  it.each<[string, object]>([
    ['no subject', { subject: undefined }],
    ['a subject without id', { subject: { type: 'subject' } }],
    ['an action that is a text', { action: 'enter' }],
    ['a resource that is null', { resource: null }],
  ])('is 400 for %s', async (_, more) => {
    expect(await ask('evaluation', evaluation(more))).toMatchObject({ status: 400, body: { decision: false } });
  });

  it('answers many at once, with defaults and the three semantics', async () => {
    const { resource: _, ...defaults } = evaluation();
    const where = (id: string) => ({ resource: { type: 'venue', id } });
    const many = async (semantic: string | undefined, ids: string[]) => {
      const options = semantic === undefined ? {} : { options: { evaluations_semantic: semantic } };
      const { body } = await ask('evaluations', { ...defaults, ...options, evaluations: ids.map(where) });
      return body.evaluations.map(({ decision }: { decision: boolean }) => decision);
    };
    expect(await many(undefined, ['hall', 'nowhere', 'hall'])).toEqual([true, false, true]);
    expect(await many('execute_all', ['nowhere', 'hall'])).toEqual([false, true]);
    expect(await many('deny_on_first_deny', ['hall', 'nowhere', 'hall'])).toEqual([true, false]);
    expect(await many('permit_on_first_permit', ['nowhere', 'hall', 'hall'])).toEqual([false, true]);
    const mixed = {
      ...defaults,
      evaluations: [{ ...where('hall'), subject: { type: 'user', id: 'x' } }, where('hall')],
    };
    expect(
      (await ask('evaluations', mixed)).body.evaluations.map((each: { decision: boolean }) => each.decision),
    ).toEqual([false, true]);
    expect((await ask('evaluations', evaluation())).body).toMatchObject({ decision: true });
    expect(
      (
        await many(
          undefined,
          Array.from({ length: 50 }, () => 'hall'),
        )
      ).every(Boolean),
    ).toBe(true);
  });

  it('refuses more than fifty, an unknown semantic, and what is not complete', async () => {
    const { resource: _, ...defaults } = evaluation();
    const item = { resource: { type: 'venue', id: 'hall' } };
    for (const body of [
      { ...defaults, evaluations: Array.from({ length: 51 }, () => item) },
      { ...defaults, options: { evaluations_semantic: 'other' }, evaluations: [item] },
      { evaluations: [item] },
      { ...defaults, evaluations: [null] },
      { ...defaults, evaluations: 'hall' },
      { evaluations: [] },
    ]) {
      expect(await ask('evaluations', body)).toMatchObject({ status: 400, body: { decision: false } });
    }
  });

  it('says where it is', async () => {
    const { body } = await site.ask('GET', '/.well-known/authzen-configuration');
    expect(body.access_evaluation_endpoint).toBe(`${body.policy_decision_point}/access/v1/evaluation`);
    expect(body.access_evaluations_endpoint).toBe(`${body.policy_decision_point}/access/v1/evaluations`);
  });
});

describe('the log of decisions', () => {
  it('has each answer by its id, numbered without a gap', async () => {
    const body = { subject_ref: subjectRef, venue_id: 'hall' };
    const answers = await Promise.all(Array.from({ length: 30 }, () => site.ask('POST', GATE, { key, body })));
    const last = answers.at(-1)!.body.decision_id;
    await until(async () => (await site.admin('GET', `/decisions/${last}`)).status === 200);
    const listed = await site.admin('GET', `/decisions?subject_ref=${subjectRef}&decision=allow&limit=20`);
    expect(listed.body.items).toHaveLength(20);
    const next = await site.admin(
      'GET',
      `/decisions?subject_ref=${subjectRef}&decision=allow&limit=20&cursor=${listed.body.nextCursor}`,
    );
    const ids = [...listed.body.items, ...next.body.items].map((row: { decision_id: string }) => row.decision_id);
    expect(new Set(ids).size).toBe(ids.length);
    const rows = await site.sql.query<{ process: string; seqs: string[] }>({
      text: 'SELECT process, array_agg(seq ORDER BY seq) AS seqs FROM gate.gate_decisions GROUP BY process',
    });
    for (const { seqs } of rows) expect(seqs.map(Number)).toEqual(seqs.map((_, index) => index + 1));
    expect((await site.admin('GET', `/decisions/${last}`)).body).toMatchObject({
      decision: 'allow',
      reason_codes: ['ELIGIBLE'],
      venue_id: 'hall',
    });
    expect((await site.admin('GET', '/decisions/gd_none')).status).toBe(404);
  });

  it('that cannot be written changes no answer, and is written once it can be', async () => {
    await site.sql.query({ text: 'ALTER TABLE gate.gate_decisions RENAME TO gate_decisions_away' });
    const body = { subject_ref: subjectRef, venue_id: 'hall' };
    const answer = await site.ask('POST', GATE, { key, body });
    expect(answer.body.allow).toBe(true);
    await until(() => site.logLines.some((line) => line.includes('decisions_not_written')));
    await site.sql.query({ text: 'ALTER TABLE gate.gate_decisions_away RENAME TO gate_decisions' });
    await until(async () => (await site.admin('GET', `/decisions/${answer.body.decision_id}`)).status === 200, {
      timeoutMs: 10_000,
    });
  }, 20_000);
});

describe('what the service says of itself', () => {
  it('is open, and asks for a key where it is told to', async () => {
    expect((await site.ask('GET', '/v1/health')).body).toMatchObject({ status: 'ok', maturity: 'preview' });
    const closed = await site.replica({ HEALTH_REQUIRES_KEY: 'true' });
    expect((await closed.ask('GET', '/v1/health')).status).toBe(401);
    expect((await closed.ask('GET', '/v1/health', { key })).status).toBe(200);
    const described = async (gate: typeof closed) =>
      (await gate.ask('GET', '/v1/openapi.json')).body.paths['/v1/health'];
    expect((await described(closed)).get.security).toEqual([{ Bearer: [] }]);
    expect((await described(site)).get.security).toEqual([]);
    const { body } = await site.ask('GET', '/v1/openapi.json');
    expect(body).toMatchObject({ openapi: expect.stringMatching(/^3\.1/) });
    expect(Object.keys(body.paths)).toEqual(expect.arrayContaining(['/v1/gate/check', '/v1/cases/{case_id}/seal']));
    expect((await site.ask('GET', '/.well-known/jwks.json')).body.keys).toHaveLength(1);
  });
});
