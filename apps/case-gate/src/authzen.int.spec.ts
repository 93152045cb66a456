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
  const parts = (id: string) => ({
    subject: { type: 'subject', id },
    resource: { type: 'venue', id: 'hall' },
    action: { name: 'enter' },
  });
  const evaluation = (more: object = {}) => ({ ...parts(subjectRef), ...more });
  const ask = (path: string, body: unknown, headers = {}) =>
    site.ask('POST', `/access/v1/${path}`, { key, body, headers });

  it('decides the same, with reason and id in the context', async () => {
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

  it('ignores unknown properties and members', async () => {
    const known = { unknown: null, properties: { a: [null, 'b'], properties: 7 } };
    const { subject, resource, action } = evaluation();
    const parts = {
      subject: { ...subject, ...known },
      resource: { ...resource, ...known },
      action: { ...action, ...known },
    };
    expect((await ask('evaluation', { ...parts, evaluations: 7, options: 'x' })).body).toMatchObject({
      decision: true,
    });
    expect((await ask('evaluations', { ...parts, evaluations: [{ unknown: null }] })).body).toMatchObject({
      evaluations: [{ decision: true }],
    });
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
    ...(['subject', 'resource', 'action'] as const).flatMap((part) =>
      [null, 'x', [], 7, true].map((properties): [string, object] => [
        `properties of the ${part} that are ${JSON.stringify(properties)}`,
        { [part]: { ...parts('subj_any')[part], properties } },
      ]),
    ),
    ...[null, 'x', [], 7].map((context): [string, object] => [
      `a context that is ${JSON.stringify(context)}`,
      { context },
    ]),
  ])('is 400 for %s', async (_, more) => {
    expect(await ask('evaluation', evaluation(more))).toMatchObject({ status: 400, body: { decision: false } });
  });

  it('answers batches, with defaults and the three semantics', async () => {
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

  it('refuses more than fifty items, an unknown semantic, mistyped defaults, and a single incomplete question', async () => {
    const { resource: _, ...defaults } = evaluation();
    const item = { resource: { type: 'venue', id: 'hall' } };
    for (const body of [
      { ...defaults, evaluations: Array.from({ length: 51 }, () => item) },
      { ...defaults, evaluations: Array.from({ length: 51 }, () => null) },
      ...['other', 'EXECUTE_ALL', null, 7].map((evaluations_semantic) => ({
        ...defaults,
        options: { evaluations_semantic },
        evaluations: [item],
      })),
      { ...defaults, options: [], evaluations: [item] },
      { ...defaults, evaluations: 'hall' },
      { ...defaults, evaluations: { 0: item } },
      { ...defaults, evaluations: null },
      { ...defaults, subject: 'x', evaluations: [{ ...evaluation() }] },
      { ...defaults, action: { name: 'enter', properties: null }, evaluations: [{ ...evaluation() }] },
      { ...defaults, context: { a: 'x'.repeat(4096) }, evaluations: [item] },
      { ...defaults, evaluations: [] },
      { evaluations: [] },
    ]) {
      expect(await ask('evaluations', body)).toMatchObject({ status: 400, body: { decision: false } });
    }
  });

  it('takes defaults that are not complete where every item is, and answers an item that is not in its place', async () => {
    const { resource, ...complete } = evaluation();
    const top = { resource: { type: 'venue' }, subject: {}, action: { properties: {} } };
    const failed = { decision: false, context: { error: { status: 400, message: expect.any(String) } } };
    const answer = await ask('evaluations', { ...top, evaluations: [{ ...complete, resource }, evaluation()] });
    expect(answer).toMatchObject({ status: 200, body: { evaluations: [{ decision: true }, { decision: true }] } });
    // A member of an item replaces the default as a whole, so both lack something.
    const mixed = {
      ...complete,
      resource: { type: 'venue' },
      evaluations: [{}, { resource: { id: 'hall' } }, { resource }],
    };
    expect((await ask('evaluations', mixed)).body).toEqual({
      evaluations: [failed, failed, expect.objectContaining({ decision: true })],
    });
    const denied = { ...mixed, options: { evaluations_semantic: 'deny_on_first_deny' } };
    expect((await ask('evaluations', denied)).body.evaluations).toEqual([failed]);
  });

  it('points at what a single question lacks', async () => {
    const body = { ...evaluation(), resource: { type: 'venue' }, action: {}, subject: undefined };
    const errors = ['/subject', '/action/name', '/resource/id'].map((pointer) => ({ in: 'body', pointer }));
    expect(await ask('evaluations', body)).toMatchObject({ status: 400, body: { decision: false, errors } });
  });

  describe('in a batch with one item that cannot be evaluated', () => {
    const { resource, ...defaults } = { ...evaluation(), subject: undefined };
    const good = () => ({ subject: evaluation().subject, resource });
    const failed = { decision: false, context: { error: { status: 400, message: expect.any(String) } } };
    const bad: [string, () => unknown][] = [
      ['lacks a part', () => ({ subject: good().subject })],
      ['is empty', () => ({})],
      ['is null', () => null],
      ['is a text', () => 'hall'],
      ['is a list', () => [good()]],
      ['has a subject of null', () => ({ ...good(), subject: null })],
      ['has a subject without id', () => ({ ...good(), subject: { type: 'subject' } })],
      ['has a resource that is a text', () => ({ ...good(), resource: 'hall' })],
      ['has an action without name, whatever the default is', () => ({ ...good(), action: {} })],
      ['has properties of null', () => ({ ...good(), subject: { ...good().subject, properties: null } })],
      ['has properties of a list', () => ({ ...good(), resource: { ...resource, properties: [] } })],
      ['has properties of a text', () => ({ ...good(), action: { name: 'enter', properties: 'x' } })],
      ['has a context of null', () => ({ ...good(), context: null })],
      ['has a context that is too large', () => ({ ...good(), context: { a: 'x'.repeat(4096) } })],
    ];
    const decided = async (evaluations: unknown[], evaluations_semantic?: string) => {
      const options = evaluations_semantic === undefined ? {} : { options: { evaluations_semantic } };
      const { status, body } = await ask('evaluations', { ...defaults, ...options, evaluations });
      expect(status).toBe(200);
      return body.evaluations as object[];
    };

    it.each(bad)('which %s, the others are answered and the item is a denial in its place', async (_what, make) => {
      const nowhere = { ...good(), resource: { type: 'venue', id: 'nowhere' } };
      expect(await decided([good(), make(), nowhere, good()])).toEqual([
        expect.objectContaining({ decision: true }),
        failed,
        expect.objectContaining({ decision: false }),
        expect.objectContaining({ decision: true }),
      ]);
      expect(await decided([good(), make(), good()], 'deny_on_first_deny')).toEqual([
        expect.objectContaining({ decision: true }),
        failed,
      ]);
      expect(await decided([make(), good(), good()], 'permit_on_first_permit')).toEqual([
        failed,
        expect.objectContaining({ decision: true }),
      ]);
      expect(await decided([make()])).toEqual([failed]);
    });

    it('names the fault without quoting the request', async () => {
      const secret = { ...good(), subject: { type: 'subject', id: 'subj_secret', properties: 'secret' } };
      expect(await decided([{}, secret, null])).toEqual([
        {
          decision: false,
          context: { error: { status: 400, message: 'subject is missing and has no default.' } },
        },
        { decision: false, context: { error: { status: 400, message: '/subject/properties is not as documented.' } } },
        { decision: false, context: { error: { status: 400, message: 'The item is not an object.' } } },
      ]);
    });
  });

  it.each([
    ['200', () => ask('evaluation', evaluation(), { 'x-request-id': 'é "quoted", \t and a blank' })],
    ['a batch', () => ask('evaluations', evaluation(), { 'x-request-id': 'é "quoted", \t and a blank' })],
    ['400', () => ask('evaluation', {}, { 'x-request-id': 'é "quoted", \t and a blank' })],
    [
      'no key',
      () =>
        site.ask('POST', '/access/v1/evaluation', {
          body: {},
          headers: { 'x-request-id': 'é "quoted", \t and a blank' },
        }),
    ],
    [
      '405',
      () => site.ask('GET', '/access/v1/evaluations', { headers: { 'x-request-id': 'é "quoted", \t and a blank' } }),
    ],
  ])('echoes X-Request-ID byte for byte, with %s, and logs a generated one', async (_what, send) => {
    const lines = site.logLines.length;
    expect((await send()).headers['x-request-id']).toBe('é "quoted", \t and a blank');
    const logged = site.logLines.slice(lines).join('\n');
    expect(logged).not.toContain('quoted');
  });

  it('publishes its metadata', async () => {
    const { body, headers } = await site.ask('GET', '/.well-known/authzen-configuration');
    expect(headers['cache-control']).toBe('public, max-age=300');
    expect(body.access_evaluation_endpoint).toBe(`${body.policy_decision_point}/access/v1/evaluation`);
    expect(body.access_evaluations_endpoint).toBe(`${body.policy_decision_point}/access/v1/evaluations`);
  });
});

describe('the log of decisions', () => {
  it('contains each decision by its id, numbered without gaps', async () => {
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

  it('changes no answer while it cannot be written, and is written later', async () => {
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

describe('service routes', () => {
  it('are open, and require a key where configured', async () => {
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
    const jwks = await site.ask('GET', '/.well-known/jwks.json');
    expect(jwks.body.keys).toHaveLength(1);
    expect(jwks.headers).toMatchObject({ 'cache-control': 'public, max-age=60', etag: expect.stringMatching(/^W\//) });
  });
});
