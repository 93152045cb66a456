import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { newSha256, rowsOf, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let there: TestInstallation;
let orgId: string;
let owner: TestPerson;
let admin: TestPerson;
let write: ReturnType<typeof rowsOf>;

beforeAll(async () => {
  there = await testInstallation();
  orgId = await there.newOrg();
  owner = await there.newPerson(orgId, ['owner']);
  admin = await there.newPerson(orgId, ['admin']);
  write = rowsOf(there, owner);
}, 120_000);
afterAll(() => there.stop());

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}, by = owner) =>
  there.api.send(method, path, { key: by.key, headers, ...(body === undefined ? {} : { body }) });

/** `400 INVALID_REQUEST /title` of a refusal. */
async function refusal(answer: Promise<{ status: number; json: unknown }>): Promise<string> {
  const { status, json } = await answer;
  const { code, errors = [] } = json as { code?: string; errors?: { pointer: string }[] };
  return [status, code, ...errors.map(({ pointer }) => pointer)].join(' ');
}

describe('a new record', () => {
  it('of a risk has the defaults of the contract, its place and its version', async () => {
    const answer = await send('POST', '/api/risks', {
      title: 'Outage',
      category: 'operations',
      inherent: { likelihood: 5, impact: 4 },
    });
    expect(answer.status).toBe(201);
    const risk = answer.json as Made;
    expect(answer.headers).toMatchObject({ location: `/api/risks/${risk.id}`, etag: '"1"' });
    const rating = { likelihood: 5, impact: 4, score: 20, level: 'critical' };
    expect(risk).toEqual({
      id: expect.stringMatching(/^rsk_/),
      refId: null,
      title: 'Outage',
      description: null,
      category: 'operations',
      department: null,
      ownerId: owner.id,
      status: 'identified',
      inherent: rating,
      current: rating,
      residual: null,
      treatment: 'undecided',
      treatmentPlan: null,
      reviewStatus: 'draft',
      sensitive: false,
      assetIds: [],
      controlIds: [],
      evidenceIds: [],
      acceptance: null,
      identifiedAt: risk['createdAt'],
      nextReviewAt: null,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: risk['createdAt'],
      version: 1,
    });
    expect((await send('GET', `/api/risks/${risk.id}`)).text).toBe(answer.text);
  });

  it.each([
    [1, 4, 'low'],
    [1, 5, 'medium'],
    [3, 3, 'medium'],
    [2, 5, 'high'],
    [4, 4, 'high'],
    [4, 5, 'critical'],
  ])('scores %i x %i as %s', async (likelihood, impact, level) => {
    const risk = await write.risk({ inherent: { likelihood, impact } });
    expect(risk['inherent']).toEqual({ likelihood, impact, score: likelihood * impact, level });
  });

  it('keeps U+0000 and other odd characters in long text, and no control character in a title', async () => {
    const description = 'a\u0000b\u001f\u007f\u2028😀\ud7ff';
    expect((await write.risk({ description }))['description']).toBe(description);
    expect(await refusal(send('POST', '/api/policies', { title: 'a\u0000', body: 'x' }))).toBe(
      '400 INVALID_REQUEST /title',
    );
  });

  it('counts code points: 200 of them are a title, 201 are none', async () => {
    await write.risk({ title: '😀'.repeat(200) });
    expect(await refusal(send('POST', '/api/assets', { name: '😀'.repeat(201), type: 't' }))).toBe(
      '400 INVALID_REQUEST /name',
    );
  });

  it('tells all faults at once, and takes nothing the service makes itself', async () => {
    const body = { id: 'rsk_1', version: 2, createdAt: '2026-01-01T00:00:00Z', score: 3, level: 'low', stale: true };
    const all = await send('POST', '/api/risks', {
      ...body,
      title: '',
      inherent: { likelihood: 6, impact: 0, score: 1 },
    });
    const pointers = (all.json as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer).sort();
    expect([all.status, pointers]).toEqual([
      400,
      [
        '/category',
        '/createdAt',
        '/id',
        '/inherent/impact',
        '/inherent/likelihood',
        '/inherent/score',
        '/level',
        '/score',
        '/stale',
        '/title',
        '/version',
      ],
    ]);
    for (const [path, more] of [
      ['evidence', { title: 't', kind: 'link', receivedAt: '2026-01-01T00:00:00Z' }],
      ['evidence', { title: 't', kind: 'link', reviewedAt: '2026-01-01T00:00:00Z' }],
      ['policies', { title: 't', body: 'b', version: '2' }],
      ['controls', { title: 't', updatedAt: '2026-01-01T00:00:00Z' }],
    ] as const)
      expect((await send('POST', `/api/${path}`, more)).status).toBe(400);
  });

  it('refers only to what is there', async () => {
    expect(
      await refusal(
        send('POST', '/api/risks', {
          title: 't',
          category: 'c',
          inherent: { likelihood: 1, impact: 1 },
          ownerId: 'per_none',
          controlIds: ['ctl_none'],
        }),
      ),
    ).toBe('400 INVALID_REQUEST /ownerId /controlIds/0');
    const ref = { frameworkId: 'fwk_none', requirementId: 'x' };
    expect(await refusal(send('POST', '/api/controls', { title: 't', frameworkRefs: [ref] }))).toBe(
      '400 INVALID_REQUEST /frameworkRefs/0',
    );
  });

  it('holds no personal data where partners could read it, and may where they cannot', async () => {
    const inherent = { likelihood: 1, impact: 1 };
    const body = { title: 'Ask ada@example.org', refId: '+49 30 12345678', category: 'c', inherent };
    expect(await refusal(send('POST', '/api/risks', body))).toBe('422 PERSONAL_DATA_REFUSED /refId /title');
    expect(await refusal(send('POST', '/api/assets', { name: 'SSN 078-05-1120', type: 't' }))).toBe(
      '422 PERSONAL_DATA_REFUSED /name',
    );
    await write.risk({ description: 'Ask ada@example.org', treatmentPlan: '+49 30 12345678' });
  });

  it('takes times with an offset and gives them back in UTC', async () => {
    const risk = await write.risk({
      identifiedAt: '2026-03-01T02:30:00.5+02:30',
      nextReviewAt: '2027-01-01T00:00:00Z',
    });
    expect(risk).toMatchObject({ identifiedAt: '2026-03-01T00:00:00.500Z', nextReviewAt: '2027-01-01T00:00:00.000Z' });
    expect(await refusal(send('POST', '/api/controls', { title: 't', lastTestedAt: '2026-02-30T00:00:00Z' }))).toBe(
      '400 INVALID_REQUEST /lastTestedAt',
    );
  });
});

describe('a change', () => {
  it('needs the version it was made from', async () => {
    const risk = await write.risk();
    const path = `/api/risks/${risk.id}`;
    for (const [method, body] of [
      ['PATCH', { title: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      const missing = await send(method, path, body);
      expectProblem({ ...missing, body: missing.json }, 'PRECONDITION_REQUIRED');
      for (const stale of ['"0"', '"2"', 'W/"1"', '1', '""'])
        expect(await refusal(send(method, path, body, { 'if-match': stale }))).toBe('412 PRECONDITION_FAILED');
    }
    // What is not there is not there, whatever is sent with it.
    expect(await refusal(send('PATCH', '/api/risks/rsk_none', { title: 'x' }))).toBe('404 NOT_FOUND');
    const changed = await send('PATCH', path, { title: 'x' }, { 'if-match': '"1"' });
    expect([changed.status, changed.headers.etag, (changed.json as Made)['version']]).toEqual([200, '"2"', 2]);
    expect((changed.json as Made)['updatedAt']! >= risk['updatedAt']!).toBe(true);
    expect((await send('DELETE', path, undefined, { 'if-match': '"2"' })).status).toBe(204);
    expect((await send('GET', path)).status).toBe(404);
  });

  it('made twice at the same time is made once', async () => {
    const { id } = await write.asset();
    const both = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => send('PATCH', `/api/assets/${id}`, { name }, { 'if-match': '"1"' })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
  });

  it('leaves alone what it does not name, and takes null where a member may be null', async () => {
    const risk = await write.risk({ residual: { likelihood: 1, impact: 1 }, refId: 'R-1', department: 'ops' });
    const changed = await write.change(`/api/risks/${risk.id}`, { residual: null, refId: null });
    expect(changed).toEqual({ ...risk, residual: null, refId: null, version: 2, updatedAt: changed['updatedAt'] });
    expect(
      await refusal(send('PATCH', `/api/risks/${risk.id}`, { title: null, ownerId: null }, { 'if-match': '"2"' })),
    ).toBe('400 INVALID_REQUEST /title /ownerId');
  });

  it('of a control that goes takes it out of everything that named it', async () => {
    const control = await write.control();
    const links = { controlIds: [control.id] };
    const [risk, evidence, asset] = [await write.risk(links), await write.evidence(links), await write.asset(links)];
    await write.remove(`/api/controls/${control.id}`);
    for (const path of [`risks/${risk.id}`, `evidence/${evidence.id}`, `assets/${asset.id}`])
      expect((await send('GET', `/api/v1/${path}`)).json).toMatchObject({ item: { controlIds: [] } });
  });

  it('of a policy counts its version, and its body is in the single record alone', async () => {
    const { id } = await write.policy({ body: 'Be careful.' });
    const changed = await write.change(`/api/policies/${id}`, {
      body: 'Be kind.',
      status: 'approved',
      approvedAt: '2026-01-01T00:00:00Z',
    });
    expect(changed).toMatchObject({
      version: 2,
      body: 'Be kind.',
      // printf 'Be kind.' | sha256sum
      bodySha256: '5499befb38dbf3fcc08107141cb2a9e7f42a6aae403361dc3601b8296d7967ea',
    });
    const list = (await send('GET', '/api/policies')).json as Made[];
    expect(list.find((policy) => policy.id === id)).not.toHaveProperty('body');
  });
});

describe('the acceptance of a risk', () => {
  const inAYear = new Date(Date.now() + 365 * 86_400_000).toISOString();

  it('is needed, lies in the future, and goes with the status', async () => {
    const { id } = await write.risk();
    const patch = (body: object) => send('PATCH', `/api/risks/${id}`, body, { 'if-match': '*' });
    expect(await refusal(patch({ status: 'accepted' }))).toBe('400 INVALID_REQUEST /acceptance');
    expect(await refusal(patch({ status: 'closed', acceptance: { expiresAt: inAYear } }))).toBe(
      '400 INVALID_REQUEST /acceptance',
    );
    const past = { expiresAt: '2020-01-01T00:00:00Z' };
    expect(await refusal(patch({ status: 'accepted', acceptance: past }))).toBe(
      '400 INVALID_REQUEST /acceptance/expiresAt',
    );
    const { json } = await patch({ status: 'accepted', acceptance: { expiresAt: inAYear } });
    expect((json as Made)['acceptance']).toEqual({
      acceptedBy: owner.id,
      acceptedAt: (json as Made)['updatedAt'],
      expiresAt: inAYear,
      residualAtAcceptance: null,
      stale: false,
    });
    expect(((await patch({ title: 'Other' })).json as Made)['acceptance']).toMatchObject({ stale: false });
    expect(((await patch({ status: 'in_treatment' })).json as Made)['acceptance']).toBeNull();
  });

  it('is stale once the residual risk has changed', async () => {
    const residual = { likelihood: 2, impact: 2 };
    const risk = await write.risk({ status: 'accepted', residual, acceptance: { expiresAt: inAYear } });
    expect(risk['acceptance']).toMatchObject({ stale: false, residualAtAcceptance: { score: 4, level: 'low' } });
    const path = `/api/risks/${risk.id}`;
    expect((await write.change(path, { residual: { likelihood: 2, impact: 3 } }))['acceptance']).toMatchObject({
      stale: true,
    });
    expect((await write.change(path, { residual }))['acceptance']).toMatchObject({ stale: false });
  });

  it('cannot be left once archived', async () => {
    const { id } = await write.risk({ status: 'archived' });
    const patch = (body: object) => refusal(send('PATCH', `/api/risks/${id}`, body, { 'if-match': '*' }));
    expect(await patch({ status: 'identified' })).toBe('409 INVALID_STATE_TRANSITION');
    expect(await patch({ title: 'Still archived' })).toBe('200 ');
  });
});

describe('a list of the dashboard', () => {
  it('is a bare array, and its next page is in Link', async () => {
    for (let count = 0; count < 3; count += 1) await write.control();
    const all = (await send('GET', '/api/controls?limit=200')).json as Made[];
    const ids: string[] = [];
    let path: string | undefined = '/api/controls?limit=2';
    while (path !== undefined) {
      const { json, headers } = await send('GET', path);
      ids.push(...(json as Made[]).map(({ id }) => id));
      path = /^<(\/api\/controls\?limit=2&cursor=[\w-]+)>; rel="next"$/.exec(String(headers.link ?? ''))?.[1];
    }
    expect(ids).toEqual(all.map(({ id }) => id));
  });

  it.each([
    ['limit=0', '400 INVALID_LIMIT /limit'],
    ['limit=201', '400 INVALID_LIMIT /limit'],
    ['limit=01', '400 INVALID_LIMIT /limit'],
    ['cursor=', '400 INVALID_CURSOR /cursor'],
    ['cursor=abc', '400 INVALID_CURSOR /cursor'],
    ['status=closed', '400 UNKNOWN_PARAMETER /status'],
    ['limit=1&limit=2', '400 UNKNOWN_PARAMETER /limit'],
  ])('refuses ?%s', async (query, wanted) => expect(await refusal(send('GET', `/api/risks?${query}`))).toBe(wanted));
});

describe('the audit', () => {
  it('has every change of the organisation, newest first, and no refusal', async () => {
    const risk = await write.risk();
    await send('PATCH', `/api/risks/${risk.id}`, { title: 'x' }, { 'if-match': '"9"' });
    await write.change(`/api/risks/${risk.id}`, { title: 'y' });
    await write.remove(`/api/risks/${risk.id}`);
    const events = (await send('GET', '/api/audit?limit=3')).json as Made[];
    expect(events.map(({ action, resourceId }) => [action, resourceId])).toEqual([
      ['risk.delete', risk.id],
      ['risk.update', risk.id],
      ['risk.create', risk.id],
    ]);
    expect(Object.keys(events[0]!)).toEqual(['id', 'at', 'actorId', 'action', 'resource', 'resourceId']);
    expect(events[0]!['actorId']).toBe(owner.id);
    const stranger = await there.newPerson(await there.newOrg(), ['owner']);
    const theirs = (await send('GET', '/api/audit', undefined, {}, stranger)).json as Made[];
    expect(theirs.map(({ resource }) => resource)).toEqual(['apiKey', 'member', 'org']);
  });
});

describe('evidence', () => {
  const reason = { reason: 'Not legible.' };
  const move = (id: string, to: string, more: object = {}, by = owner) =>
    send('POST', `/api/evidence/${id}/transitions`, { to, ...more }, {}, by);

  it('needs a fingerprint unless it is a link or only requested', async () => {
    const create = (body: object) => refusal(send('POST', '/api/evidence', { title: 't', kind: 'document', ...body }));
    expect(await create({})).toBe('400 INVALID_REQUEST /sha256');
    expect(await create({ sha256: null })).toBe('400 INVALID_REQUEST /sha256');
    expect(await create({ sha256: 'A'.repeat(64) })).toBe('400 INVALID_REQUEST /sha256');
    expect(await create({ state: 'requested', sha256: newSha256() })).toBe('400 INVALID_REQUEST /sha256');
    expect(await create({ state: 'approved', sha256: newSha256() })).toBe('400 INVALID_REQUEST /state');
    expect(await create({ kind: 'link' })).toBe('201 ');
    expect(await create({ state: 'requested' })).toBe('201 ');
    const period = { from: '2026-02-01T00:00:00Z', to: '2026-01-01T00:00:00Z' };
    expect(await create({ kind: 'link', observationPeriod: period })).toBe('400 INVALID_REQUEST /observationPeriod/to');
  });

  it('goes from requested to rejected, to a new version, and to its approval', async () => {
    const requested = await write.evidence({ state: 'requested', sha256: null });
    expect(requested).toMatchObject({ state: 'requested', collectedBy: null, receivedAt: null, version: 1 });
    expect(await refusal(move(requested.id, 'collected'))).toBe('400 INVALID_REQUEST /sha256');
    const first = newSha256();
    const collected = (await move(requested.id, 'collected', { sha256: first, sizeBytes: 12 })).json as Made;
    expect(collected).toMatchObject({
      state: 'collected',
      sha256: first,
      sizeBytes: 12,
      collectedBy: owner.id,
      version: 1,
    });
    expect(collected['receivedAt']).toBe(collected['updatedAt']);
    await move(requested.id, 'in_review');
    expect(await refusal(move(requested.id, 'rejected', {}, admin))).toBe('400 INVALID_REQUEST /reason');
    expect(await refusal(move(requested.id, 'rejected', reason))).toBe('403 FORBIDDEN');
    const rejected = (await move(requested.id, 'rejected', reason, admin)).json as Made;
    expect(rejected).toMatchObject({ state: 'rejected', reviewedBy: admin.id, reviewReason: reason.reason });
    expect(await refusal(move(requested.id, 'collected', { sha256: first }))).toBe('400 INVALID_REQUEST /sha256');
    const second = newSha256();
    expect((await move(requested.id, 'collected', { sha256: second })).json).toMatchObject({
      id: requested.id,
      version: 2,
      sha256: second,
      previousSha256: first,
      reviewedBy: null,
      receivedAt: collected['receivedAt'],
    });
    await move(requested.id, 'in_review');
    expect((await move(requested.id, 'approved', {}, admin)).json).toMatchObject({ state: 'approved', version: 2 });
  });

  it('that was approved stands until its successor is approved', async () => {
    const old = await write.evidence();
    await move(old.id, 'in_review');
    await move(old.id, 'approved', {}, admin);
    const next = (await move(old.id, 'collected', { sha256: newSha256() })).json as Made;
    expect(next).toMatchObject({ previousId: old.id, previousSha256: old['sha256'], version: 2, state: 'collected' });
    expect(next.id).not.toBe(old.id);
    expect(await refusal(move(old.id, 'collected', { sha256: newSha256() }))).toBe('409 INVALID_STATE_TRANSITION');
    const state = async () => ((await send('GET', `/api/evidence/${old.id}`)).json as Made)['state'];
    await move(next.id, 'in_review');
    expect(await state()).toBe('approved');
    await move(next.id, 'approved', {}, admin);
    expect(await state()).toBe('superseded');
  });

  // Every pair that the contract does not name is a conflict. The reviewer is somebody else than the collector.
  const LEGAL: Readonly<Record<string, readonly string[]>> = {
    requested: ['collected', 'not_applicable'],
    collected: ['in_review', 'revoked'],
    in_review: ['approved', 'rejected', 'revoked'],
    approved: ['collected', 'revoked'],
    rejected: ['collected', 'revoked'],
    revoked: [],
    not_applicable: [],
  };
  const WAY: Readonly<Record<string, readonly string[]>> = {
    requested: [],
    collected: [],
    in_review: ['in_review'],
    approved: ['in_review', 'approved'],
    rejected: ['in_review', 'rejected'],
    revoked: ['revoked'],
    not_applicable: ['not_applicable'],
  };
  const ALL = [...Object.keys(LEGAL), 'superseded', 'expiring', 'expired'];

  it.each(Object.keys(LEGAL))(
    'that is %s goes where the contract says, and nowhere else',
    async (from) => {
      for (const to of ALL) {
        const isRequested = from === 'requested' || from === 'not_applicable';
        const { id } = await write.evidence(isRequested ? { state: 'requested', sha256: null } : {});
        const more = (target: string) => ({
          ...(target === 'collected' && { sha256: newSha256() }),
          ...(target === 'rejected' || target === 'revoked' ? reason : {}),
        });
        for (const step of WAY[from]!) expect((await move(id, step, more(step), admin)).status).toBe(200);
        const wanted = LEGAL[from]!.includes(to) ? '200 ' : '409 INVALID_STATE_TRANSITION';
        expect([from, to, await refusal(move(id, to, more(to), admin))]).toEqual([from, to, wanted]);
      }
    },
    60_000,
  );

  it('refuses a word that is no state, and a fingerprint where nothing is collected', async () => {
    const { id } = await write.evidence();
    expect(await refusal(move(id, 'burnt'))).toBe('400 INVALID_REQUEST /to');
    expect(await refusal(move(id, 'in_review', { sha256: newSha256() }))).toBe('400 INVALID_REQUEST /sha256');
  });
});
