import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { rowsOf, type Made } from './testing/demo-rows.ts';
import { refusalText } from './testing/http-caller.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let owner: TestPerson;
let write: ReturnType<typeof rowsOf>;

beforeAll(async () => {
  service = await testInstallation();
  owner = await service.newPerson(await service.newOrg(), ['owner']);
  write = rowsOf(service, owner);
}, 120_000);
afterAll(() => service.stop());

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  service.api.send(method, path, { key: owner.key, headers, ...(body === undefined ? {} : { body }) });
const refusal = (...sent: Parameters<typeof send>) => refusalText(send(...sent));

describe('a new record', () => {
  it('of a risk has the defaults of the contract, Location and ETag', async () => {
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

  it('has unset members that are newer than its row', async () => {
    const { id } = await write.risk({ treatmentPlan: 'p' });
    const older = `UPDATE risk.resources SET doc = (doc::jsonb - 'treatmentPlan' - 'assetIds' - 'sensitive')::text WHERE id = $1`;
    await service.sql.query({ text: older, values: [id] });
    const unset = { treatmentPlan: null, assetIds: [], sensitive: false };
    expect((await send('GET', `/api/risks/${id}`)).json).toMatchObject(unset);
    const changed = await send('PATCH', `/api/risks/${id}`, { title: 'Newer' }, { 'if-match': '"1"' });
    expect(changed.json).toMatchObject({ ...unset, title: 'Newer', version: 2 });
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

  it('keeps U+0000 and other unusual characters in long texts, and refuses control characters in a title', async () => {
    const description = 'a\u0000b\u001f\u007f\u2028😀\ud7ff';
    expect((await write.risk({ description }))['description']).toBe(description);
    const body = { title: 'a\u0000', body: 'x' };
    expect(await refusal('POST', '/api/policies', body)).toBe('400 INVALID_REQUEST /title');
  });

  it('counts code points: a title may have 200, not 201', async () => {
    await write.risk({ title: '😀'.repeat(200) });
    const body = { name: '😀'.repeat(201), type: 't' };
    expect(await refusal('POST', '/api/assets', body)).toBe('400 INVALID_REQUEST /name');
  });

  it('reports all faults at once, and refuses members that the service sets itself', async () => {
    const made = { id: 'rsk_1', version: 2, createdAt: '2026-01-01T00:00:00Z', score: 3, level: 'low', stale: true };
    const all = await send('POST', '/api/risks', {
      ...made,
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
    for (const [path, body] of [
      ['evidence', { title: 't', kind: 'link', receivedAt: '2026-01-01T00:00:00Z' }],
      ['evidence', { title: 't', kind: 'link', reviewedAt: '2026-01-01T00:00:00Z' }],
      ['policies', { title: 't', body: 'b', version: '2' }],
      ['controls', { title: 't', updatedAt: '2026-01-01T00:00:00Z' }],
    ] as const)
      expect((await send('POST', `/api/${path}`, body)).status).toBe(400);
  });

  it('may refer only to existing rows', async () => {
    const inherent = { likelihood: 1, impact: 1 };
    const body = { title: 't', category: 'c', inherent, ownerId: 'per_none', controlIds: ['ctl_none'] };
    expect(await refusal('POST', '/api/risks', body)).toBe('400 INVALID_REQUEST /ownerId /controlIds/0');
    const frameworkRefs = [{ frameworkId: 'fwk_none', requirementId: 'x' }];
    expect(await refusal('POST', '/api/controls', { title: 't', frameworkRefs })).toBe(
      '400 INVALID_REQUEST /frameworkRefs/0',
    );
  });

  it('refuses personal data in members that partners see, and accepts it in others', async () => {
    const inherent = { likelihood: 1, impact: 1 };
    const body = { title: 'Ask ada@example.org', refId: '+49 30 12345678', category: 'c', inherent };
    expect(await refusal('POST', '/api/risks', body)).toBe('422 PERSONAL_DATA_REFUSED /refId /title');
    const asset = { name: 'SSN 078-05-1120', type: 't' };
    expect(await refusal('POST', '/api/assets', asset)).toBe('422 PERSONAL_DATA_REFUSED /name');
    await write.risk({ description: 'Ask ada@example.org', treatmentPlan: '+49 30 12345678' });
  });

  it('accepts times with an offset and returns them in UTC', async () => {
    const risk = await write.risk({
      identifiedAt: '2026-03-01T02:30:00.5+02:30',
      nextReviewAt: '2027-01-01T00:00:00Z',
    });
    expect(risk).toMatchObject({ identifiedAt: '2026-03-01T00:00:00.500Z', nextReviewAt: '2027-01-01T00:00:00.000Z' });
    const body = { title: 't', lastTestedAt: '2026-02-30T00:00:00Z' };
    expect(await refusal('POST', '/api/controls', body)).toBe('400 INVALID_REQUEST /lastTestedAt');
  });
});

describe('a change', () => {
  it('needs the current version in If-Match', async () => {
    const risk = await write.risk();
    const path = `/api/risks/${risk.id}`;
    for (const [method, body] of [
      ['PATCH', { title: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      const missing = await send(method, path, body);
      expectProblem({ ...missing, body: missing.json }, 'PRECONDITION_REQUIRED');
      for (const stale of ['"0"', '"2"', 'W/"1"', '1', '""'])
        expect(await refusal(method, path, body, { 'if-match': stale })).toBe('412 PRECONDITION_FAILED');
    }
    // A missing row is 404, whatever headers are sent.
    expect(await refusal('PATCH', '/api/risks/rsk_none', { title: 'x' })).toBe('404 NOT_FOUND');
    const changed = await send('PATCH', path, { title: 'x' }, { 'if-match': '"1"' });
    expect([changed.status, changed.headers.etag, (changed.json as Made)['version']]).toEqual([200, '"2"', 2]);
    expect(String((changed.json as Made)['updatedAt']) >= String(risk['updatedAt'])).toBe(true);
    expect((await send('DELETE', path, undefined, { 'if-match': '"2"' })).status).toBe(204);
    expect((await send('GET', path)).status).toBe(404);
  });

  it('succeeds once if sent twice concurrently', async () => {
    const { id } = await write.asset();
    const all = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => send('PATCH', `/api/assets/${id}`, { name }, { 'if-match': '"1"' })),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
  });

  it('keeps omitted members, and accepts null for nullable ones', async () => {
    const risk = await write.risk({ residual: { likelihood: 1, impact: 1 }, refId: 'R-1', department: 'ops' });
    const path = `/api/risks/${risk.id}`;
    const changed = await write.change(path, { residual: null, refId: null });
    expect(changed).toEqual({ ...risk, residual: null, refId: null, version: 2, updatedAt: changed['updatedAt'] });
    expect(await refusal('PATCH', path, { title: null, ownerId: null }, { 'if-match': '"2"' })).toBe(
      '400 INVALID_REQUEST /title /ownerId',
    );
  });

  it('that deletes a control removes all links to it', async () => {
    const control = await write.control();
    const links = { controlIds: [control.id] };
    const [risk, evidence, asset] = [await write.risk(links), await write.evidence(links), await write.asset(links)];
    await write.remove(`/api/controls/${control.id}`);
    for (const path of [`risks/${risk.id}`, `evidence/${evidence.id}`, `assets/${asset.id}`])
      expect((await send('GET', `/api/v1/${path}`)).json).toMatchObject({ item: { controlIds: [] } });
  });

  it('of a policy increments its version; the body is only in the single record', async () => {
    const { id } = await write.policy({ body: 'Be careful.' });
    const change = { body: 'Be kind.', status: 'approved', approvedAt: '2026-01-01T00:00:00Z' };
    expect(await write.change(`/api/policies/${id}`, change)).toMatchObject({
      version: 2,
      body: 'Be kind.',
      // printf 'Be kind.' | sha256sum
      bodySha256: '5499befb38dbf3fcc08107141cb2a9e7f42a6aae403361dc3601b8296d7967ea',
    });
    const list = (await send('GET', '/api/policies')).json as Made[];
    expect(list.find((policy) => policy.id === id)).not.toHaveProperty('body');
  });
});

describe('a change that repeats a value which could not be set any more', () => {
  it('is 200 and changes nothing: an owner who left, a text that is refused today', async () => {
    const orgId = await service.newOrg();
    const [writer, leaver] = [await service.newPerson(orgId, ['owner']), await service.newPerson(orgId, ['admin'])];
    const { id } = await rowsOf(service, writer).risk({ ownerId: leaver.id, title: 'Call NUMBER' });
    await service.sql.query({
      text: `UPDATE risk.resources SET doc = replace(doc, 'NUMBER', '+49 30 12345678') WHERE id = $1`,
      values: [id],
    });
    expect((await service.admin('DELETE', `/orgs/${orgId}/people/${leaver.id}`)).status).toBe(204);
    const path = `/api/risks/${id}`;
    const read = async () => {
      const { headers, text } = await service.api.get(path, writer.key);
      return { etag: headers.etag, text };
    };
    const patch = (body: object) =>
      service.api.send('PATCH', path, { key: writer.key, headers: { 'if-match': '*' }, body });
    const before = await read();
    const old = JSON.parse(before.text) as Made;
    const repeated = await patch({ ownerId: old['ownerId'], title: old['title'], category: old['category'] });
    expect([repeated.status, repeated.text]).toEqual([200, before.text]);
    expect(await read()).toEqual(before);
    const audit = (await service.api.get('/api/audit', writer.key)).json as Made[];
    expect(audit.filter(({ action }) => action === 'risk.update')).toEqual([]);
    // Beside a real change as well; but they cannot be set anew.
    const changed = await patch({ ownerId: old['ownerId'], title: old['title'], department: 'ops' });
    expect([changed.status, changed.json]).toMatchObject([200, { ownerId: leaver.id, department: 'ops' }]);
    expect((await patch({ ownerId: writer.id })).status).toBe(200);
    expect(await refusalText(patch({ ownerId: leaver.id }))).toBe('400 INVALID_REQUEST /ownerId');
    expect(await refusalText(patch({ title: 'Call +49 30 12345679' }))).toBe('422 PERSONAL_DATA_REFUSED /title');
  });
});

describe('a list of the dashboard', () => {
  it('is a bare array, with its next page in Link', async () => {
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
    ['colour=red', '400 UNKNOWN_PARAMETER /colour'],
    ['limit=1&limit=2', '400 UNKNOWN_PARAMETER /limit'],
  ])('refuses ?%s', async (query, wanted) => expect(await refusal('GET', `/api/risks?${query}`)).toBe(wanted));
});
