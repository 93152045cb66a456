import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, unboundedTimes, until } from '@sealgate/testing';
import { check, gateSite, newCase, sealedCase, SETUP_MS } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
beforeAll(async () => {
  site = await gateSite();
  ({ key } = site);
}, SETUP_MS);
afterAll(() => site.stop());

const DAY_MS = 86_400_000;
const rules = { rules: [], default: { decision: 'refer', reason_codes: ['X'] } };

describe('policies', () => {
  it('have, like all rows, a time and a document that can be shown', async () => {
    const text = `INSERT INTO gate.policies (environment, policy_version, status, rules, created_at, updated_at, record_version, mac, folded)
                  VALUES ('live', 'forged', 'active', '{', now(), now(), 1, '', '')`;
    await expect(site.sql.query({ text })).rejects.toMatchObject({ code: '22P02' });
    expect(await unboundedTimes(site.sql, 'gate')).toEqual([]);
    for (const grants of ['null', '{}', '[]', '{"scopes":null}', '{"scopes":[1]}']) {
      const values = [grants];
      await expect(site.sql.query({ text: 'UPDATE gate.api_keys SET grants = $1', values })).rejects.toMatchObject({
        code: '23514',
      });
    }
    for (const at of ['0044-03-15 BC', '10000-01-01 00:00:00Z', 'infinity'])
      await expect(
        site.sql.query({ text: 'UPDATE gate.venues SET updated_at = $1', values: [at] }),
      ).rejects.toMatchObject({
        code: '23514',
      });
  });

  it('are created, listed, read, activated and retired', async () => {
    const made = await site.admin('POST', '/policies', { policy_version: 'v1', rules });
    expect(made).toMatchObject({
      status: 201,
      body: { policy_version: 'v1', environment: 'live', status: 'draft', rules },
    });
    expectProblem(await site.admin('POST', '/policies', { policy_version: 'v1' }), 'ALREADY_EXISTS', {
      errors: [{ in: 'body', pointer: '/policy_version' }],
    });
    expect((await site.admin('GET', '/policies/v1')).body).toEqual(made.body);
    const cleared = await site.admin('PATCH', '/policies/v1', { rules: null });
    expect(cleared.body.rules).toBeNull();
    // Removing what is not there changes nothing, not even the time of the last change.
    expect((await site.admin('PATCH', '/policies/v1', { rules: null })).body).toEqual(cleared.body);
    const refused = await site.admin('PATCH', '/policies/v1', { status: null });
    expectProblem(refused, 'INVALID_REQUEST');
    expect(refused.body.errors).toMatchObject([{ in: 'body', pointer: '/status' }]);
    expect((await site.admin('PATCH', '/policies/v1', { status: 'active' })).body.status).toBe('active');
    expectProblem(await site.admin('PATCH', '/policies/v1', { rules }), 'IN_USE');
    expectProblem(await site.admin('PATCH', '/policies/v1', { status: 'draft' }), 'INVALID_STATE_TRANSITION', {
      members: { current_status: 'active' },
    });
    expect((await site.admin('PATCH', '/policies/v1', { status: 'retired' })).body.status).toBe('retired');
    expectProblem(await site.admin('PATCH', '/policies/v1', { status: 'active' }), 'INVALID_STATE_TRANSITION', {
      members: { current_status: 'retired' },
    });
    expectProblem(await site.admin('GET', '/policies/v9'), 'NOT_FOUND');
    expectProblem(await site.admin('PATCH', '/policies/v9', { status: 'active' }), 'NOT_FOUND');
  });

  it('belong to an environment, named by body or query', async () => {
    await site.admin('POST', '/policies', { policy_version: 'e1', environment: 'test' });
    await site.admin('POST', '/policies?environment=other', { policy_version: 'e2' });
    expectProblem(await site.admin('GET', '/policies/e1'), 'NOT_FOUND');
    expect((await site.admin('GET', '/policies/e1?environment=test')).status).toBe(200);
    const { body } = await site.admin('GET', '/policies?environment=other');
    expect(body).toMatchObject({ items: [{ policy_version: 'e2', environment: 'other' }], nextCursor: null });
    expectProblem(await site.admin('GET', '/policies?environment=NO'), 'INVALID_REQUEST');
  });

  it.each<[string, unknown]>([
    [
      '/rules/rules/0/when',
      { rules: [{ when: { drop: 1 }, decision: 'approve', reason_codes: [] }], default: rules.default },
    ],
    ['/rules/default', { rules: [] }],
    ['/rules/default/decision', { rules: [], default: { decision: 'maybe', reason_codes: [] } }],
    [
      '/rules/rules/0/reason_codes/0',
      { rules: [{ when: true, decision: 'approve', reason_codes: ['lower'] }], default: rules.default },
    ],
    ['/rules/extra', { ...rules, extra: 1 }],
  ])('with a fault at %s are refused', async (pointer, wrong) => {
    const answer = await site.admin('POST', '/policies', { policy_version: 'bad', rules: wrong });
    expectProblem(answer, 'INVALID_REQUEST');
    expect(answer.body.errors.map((fault: { pointer: string }) => fault.pointer)).toContain(pointer);
  });
});

describe('venues', () => {
  it('are created, listed page by page, read and changed', async () => {
    for (const id of ['a', 'b', 'c'])
      await site.admin('POST', '/venues', { venue_id: id, name: id, environment: 'paged' });
    const first = await site.admin('GET', '/venues?environment=paged&limit=2');
    expect(first.body.items.map((row: { venue_id: string }) => row.venue_id)).toEqual(['a', 'b']);
    const second = await site.admin('GET', `/venues?environment=paged&limit=2&cursor=${first.body.nextCursor}`);
    expect(second.body).toMatchObject({ items: [{ venue_id: 'c' }], nextCursor: null });
    expectProblem(await site.admin('GET', `/venues?limit=2&cursor=${first.body.nextCursor}`), 'INVALID_CURSOR');
    expectProblem(await site.admin('GET', '/venues?limit=201'), 'INVALID_LIMIT');
    expectProblem(
      await site.admin('POST', '/venues', { venue_id: 'a', name: 'a', environment: 'paged' }),
      'ALREADY_EXISTS',
    );
    const changed = await site.admin('PATCH', '/venues/a?environment=paged', { name: 'New' });
    expect(changed.body).toMatchObject({ name: 'New', active: true });
    expectProblem(await site.admin('PATCH', '/venues/a', { name: 'New' }), 'NOT_FOUND');
    for (const name of ['name', 'active']) {
      const refused = await site.admin('PATCH', '/venues/a?environment=paged', { [name]: null });
      expectProblem(refused, 'INVALID_REQUEST');
      expect(refused.body.errors).toMatchObject([{ in: 'body', pointer: `/${name}` }]);
    }
    expectProblem(await site.admin('POST', '/venues', { venue_id: 'a b', name: 'x' }), 'INVALID_REQUEST');
    expectProblem(await site.admin('POST', '/venues', { venue_id: 'x' }), 'INVALID_REQUEST');
  });
});

describe('keys', () => {
  it('need an environment, and are shown once', async () => {
    expectProblem(await site.admin('POST', '/keys', { label: 'x', scopes: [] }), 'INVALID_REQUEST');
    expectProblem(
      await site.admin('POST', '/keys', { label: 'x', environment: 'live', scopes: ['all'] }),
      'INVALID_REQUEST',
    );
    const minted = await site.admin('POST', '/keys', { label: 'x', environment: 'keys', scopes: ['gate:check'] });
    expect(minted.body.rawKey).toMatch(/^gk_[A-Za-z0-9_-]{43}$/);
    expect(minted.headers['cache-control']).toBe('no-store');
    const { rawKey, ...rest } = minted.body;
    expect(rest).toMatchObject({
      label: 'x',
      environment: 'keys',
      scopes: ['gate:check'],
      keyPrefix: rawKey.slice(0, 12),
    });
    const read = await site.admin('GET', `/keys/${rest.id}`);
    expect(read.body).toEqual({ ...rest, revokedAt: null, lastUsedAt: null, endsAt: null });
    expect((await site.admin('GET', '/keys?environment=keys')).body.items).toEqual([read.body]);
    expectProblem(await site.admin('GET', `/keys/${rest.id}?environment=live`), 'NOT_FOUND');
    expect((await site.admin('DELETE', `/keys/${rest.id}`)).status).toBe(204);
    expect((await site.admin('DELETE', `/keys/${rest.id}`)).status).toBe(204);
    expectProblem(await site.admin('DELETE', '/keys/key_never'), 'NOT_FOUND');
    expect((await site.admin('GET', `/keys/${rest.id}`)).body.scopes).toEqual(['gate:check']);
  });

  it('are rotated: replays of a case survive, and the old key ends', async () => {
    const mint = (more: object) =>
      site.admin('POST', '/keys', { label: 'r', environment: 'live', scopes: ['case:write'], ...more });
    const old = (await mint({})).body;
    const ask = (rawKey: string) =>
      site.ask('POST', '/v1/cases', {
        key: rawKey,
        body: { subject_ref: 'subj_r' },
        headers: { 'idempotency-key': 'rotated' },
      });
    const first = await ask(old.rawKey);
    const next = (await mint({ replaces: old.id, overlapSeconds: 3600 })).body;
    expect((await ask(old.rawKey)).text).toBe(first.text);
    const replay = await ask(next.rawKey);
    expect({ text: replay.text, replayed: replay.headers['idempotent-replayed'] }).toEqual({
      text: first.text,
      replayed: 'true',
    });
    expectProblem(await mint({ replaces: old.id }), 'ALREADY_EXISTS');
    expectProblem(await mint({ replaces: 'key_none' }), 'NOT_FOUND');
    const rotated = await site.admin('GET', `/audit?action=key.rotate&resource_id=${old.id}`);
    expect(rotated.body.items).toMatchObject([
      { resource: 'key', detail: { environment: 'live', replacedBy: next.id, overlapSeconds: 3600 } },
    ]);
    site.advance(3_600_000);
    expectProblem(await ask(old.rawKey), 'UNAUTHENTICATED');
    expect((await ask(next.rawKey)).status).toBe(201);
    site.advance(-3_600_000);
  });

  it('are listed newest first, with their end, until 30 days after it', async () => {
    const mint = async (label: string, more: object = {}) =>
      (await site.admin('POST', '/keys', { label, environment: 'ended', scopes: ['gate:check'], ...more })).body;
    const list = async () => (await site.admin('GET', '/keys?environment=ended')).body.items;
    const old = await mint('old');
    const next = await mint('next', { replaces: old.id, overlapSeconds: 60 });
    const endOfOld = new Date(Date.parse(next.createdAt) + 60_000).toISOString();
    expect(await list()).toMatchObject([
      { id: next.id, endsAt: null, revokedAt: null },
      { id: old.id, endsAt: endOfOld, revokedAt: null },
    ]);
    await site.admin('DELETE', `/keys/${next.id}`);
    const [revoked] = await list();
    expect(revoked.endsAt).toBe(revoked.revokedAt);
    const last = await mint('last', { expiresAt: new Date(Date.parse(next.createdAt) + 31 * DAY_MS).toISOString() });
    site.advance(30 * DAY_MS + 30_000);
    expect((await list()).map(({ id }: { id: string }) => id)).toEqual([last.id, old.id]);
    site.advance(30_000);
    expect(await list()).toMatchObject([{ id: last.id, endsAt: last.expiresAt, revokedAt: null }]);
    site.advance(-30 * DAY_MS - 60_000);
  });
});

describe('an operator', () => {
  it('finds every change and its author in the audit', async () => {
    const { subjectRef } = await sealedCase(site, key);
    await site.admin('POST', `/subjects/${subjectRef}/suspend`, { reason: 'Review' });
    const { body } = await site.admin('GET', '/audit?limit=200');
    const [latest] = body.items;
    expect(latest).toMatchObject({
      actor: expect.stringMatching(/^admin:[0-9a-f]{8}$/),
      action: 'subject.suspend',
      resource: 'subject',
      resource_id: subjectRef,
      detail: { environment: 'live', reason: 'Review' },
    });
    const actions = new Set(body.items.map((row: { action: string }) => row.action));
    for (const action of ['key.mint', 'key.revoke', 'venue.create', 'venue.change', 'policy.create', 'policy.change']) {
      expect(actions).toContain(action);
    }
    expect(JSON.stringify(body)).not.toMatch(/gk_[A-Za-z0-9_-]{43}/);
  });

  it('suspends in the environment that the body or the query names', async () => {
    const { subjectRef } = await newCase(site, key);
    const act = (query: string, body: object) =>
      site.admin('POST', `/subjects/${subjectRef}/suspend${query}`, { reason: 'x', ...body });
    expectProblem(await act('', { environment: 'test' }), 'NOT_FOUND');
    expectProblem(await act('?environment=test', {}), 'NOT_FOUND');
    expectProblem(await site.admin('POST', '/subjects/ada/suspend', { reason: 'x' }), 'NOT_FOUND');
    expectProblem(await site.admin('POST', `/subjects/${subjectRef}/suspend`, {}), 'INVALID_REQUEST');
    expect((await act('', {})).body).toMatchObject({ status: 'suspended', record_version: 2 });
    expect(await check(site, key, subjectRef)).toBe('deny ELIGIBILITY_SUSPENDED');
    expect((await site.admin('GET', `/subjects/${subjectRef}`)).body.status).toBe('suspended');
    expectProblem(await site.admin('GET', '/subjects/subj_never/history'), 'NOT_FOUND');
  });
});

describe('decisions of the gate', () => {
  it('are also filtered by reason and by key', async () => {
    const { subjectRef } = await sealedCase(site, key);
    await check(site, key, subjectRef);
    await check(site, key, 'subj_nobody');
    const listed = async (query: string) => (await site.admin('GET', `/decisions?limit=200${query}`)).body.items;
    await until(async () => (await listed('&subject_ref=subj_nobody')).length === 1);
    const [denied] = await listed('&subject_ref=subj_nobody');
    const filter = `&key_id=${denied.key_id}&reason_code=${denied.reason_codes[0]}`;
    const found = await listed(filter);
    expect(found).toContainEqual(denied);
    expect(found.filter((row: { decision: string }) => row.decision === 'allow')).toEqual([]);
    expect(await listed('&key_id=key_never')).toEqual([]);
    expectProblem(await site.admin('GET', '/decisions?reason_code=lower'), 'INVALID_REQUEST');
  });
});

describe('the admin listener', () => {
  it('reports the caller and pending work', async () => {
    expect((await site.admin('GET', '/whoami')).body).toMatchObject({ role: 'operator', via: 'static' });
    const { sql } = site;
    const entry = `INSERT INTO gate.outbox (record_id, record_type, data, next_attempt_at)
                   VALUES ('far', 't', '{}', now() + interval '1 hour')`;
    await sql.query({ text: entry });
    const { items } = (await site.admin('GET', '/waiting')).body;
    expect(items).toMatchObject([
      { what: 'outbox', oldestAt: null },
      { what: 'proofs', count: expect.any(Number) },
    ]);
    expect(items[0].count).toBeGreaterThanOrEqual(1);
    await sql.query({ text: `DELETE FROM gate.outbox WHERE record_id = 'far'` });
  });
});
