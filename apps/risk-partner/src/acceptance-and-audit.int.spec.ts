import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { unboundedTimes } from '@sealgate/testing';
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

describe('the acceptance of a risk', () => {
  const inAYear = new Date(Date.now() + 365 * 86_400_000).toISOString();
  const patchOf = (id: string) => (body: object) =>
    service.api.send('PATCH', `/api/risks/${id}`, { key: owner.key, headers: { 'if-match': '*' }, body });

  it('is required for status accepted, must be in the future, and is removed with the status', async () => {
    const patch = patchOf((await write.risk()).id);
    const refusal = (body: object) => refusalText(patch(body));
    expect(await refusal({ status: 'accepted' })).toBe('400 INVALID_REQUEST /acceptance');
    const misplaced = { status: 'closed', acceptance: { expiresAt: inAYear } };
    expect(await refusal(misplaced)).toBe('400 INVALID_REQUEST /acceptance');
    const past = { status: 'accepted', acceptance: { expiresAt: '2020-01-01T00:00:00Z' } };
    expect(await refusal(past)).toBe('400 INVALID_REQUEST /acceptance/expiresAt');
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

  it('is stale after the residual rating changed or it expired', async () => {
    const residual = { likelihood: 2, impact: 2 };
    const risk = await write.risk({ status: 'accepted', residual, acceptance: { expiresAt: inAYear } });
    expect(risk['acceptance']).toMatchObject({ stale: false, residualAtAcceptance: { score: 4, level: 'low' } });
    const path = `/api/risks/${risk.id}`;
    const other = await write.change(path, { residual: { likelihood: 2, impact: 3 } });
    expect(other['acceptance']).toMatchObject({ stale: true });
    expect((await write.change(path, { residual }))['acceptance']).toMatchObject({ stale: false });
    service.skewMs += 366 * 86_400_000;
    expect(((await service.api.get(path, owner.key)).json as Made)['acceptance']).toMatchObject({ stale: true });
    service.skewMs -= 366 * 86_400_000;
  });

  it('runs out for partners at its time: in pages, their ETag, and as a revision of that time', async () => {
    const day = 86_400_000;
    // Of its own, as its times are ahead of those of the others.
    const orgId = await service.newOrg();
    const owner = await service.newPerson(orgId, ['owner']);
    const write = rowsOf(service, owner);
    const partner = await service.newPerson(orgId, ['partner_read']);
    const blind = await service.newPerson(orgId, ['viewer'], { scope: { departments: ['none'] } });
    const expiresAt = new Date(Date.now() + 400 * day).toISOString();
    const { id } = await write.risk({ status: 'accepted', acceptance: { expiresAt }, refId: 'R-ends' });
    const plain = await write.risk();
    const read = async () => {
      const page = await service.api.get('/api/v1/risks?limit=200', partner.key);
      const items = (page.json as { items: Made[] }).items;
      const shown = items.find((item) => item.id === id)!;
      expect(items.find((item) => item.id === plain.id)).toMatchObject({
        acceptanceExpiresAt: null,
        acceptanceStale: null,
      });
      const one = (await service.api.get(`/api/v1/risks/${id}`, partner.key)).json as { item: Made };
      expect(one.item).toEqual(shown);
      expect(shown['acceptanceExpiresAt']).toBe(expiresAt);
      return { etag: page.headers.etag, stale: shown['acceptanceStale'] };
    };
    const snapshots = async ({ key }: TestPerson) =>
      ((await service.api.get('/api/v1/snapshots?limit=200', key)).json as { items: Made[] }).items.map(
        ({ createdAt }) => createdAt,
      );
    const before = await read();
    expect(before.stale).toBe(false);
    try {
      service.skewMs += 400 * day - 60_000;
      expect((await read()).stale).toBe(false);
      service.skewMs += 120_000;
      const after = await read();
      expect(after.stale).toBe(true);
      expect(after.etag).not.toBe(before.etag);
      expect(await snapshots(partner)).toContain(expiresAt);
      expect(await snapshots(blind)).not.toContain(expiresAt);
      const path = `/api/risks/${id}`;
      // Repeating what ran out renews nothing; a new time does.
      const repeat = { key: owner.key, headers: { 'if-match': '*' }, body: { acceptance: { expiresAt } } };
      const same = await service.api.send('PATCH', path, repeat);
      expect([same.status, same.json]).toMatchObject([200, { acceptance: { expiresAt, stale: true } }]);
      await write.change(path, { acceptance: { expiresAt: new Date(Date.now() + 500 * day).toISOString() } });
      const renewed = (await service.api.get(`/api/v1/risks/${id}`, partner.key)).json as { item: Made };
      expect(renewed.item['acceptanceStale']).toBe(false);
      await write.change(path, { residual: { likelihood: 5, impact: 5 } });
      const moved = (await service.api.get(`/api/v1/risks/${id}`, partner.key)).json as { item: Made };
      expect(moved.item['acceptanceStale']).toBe(true);
    } finally {
      service.skewMs = 0;
    }
  });

  it('cannot be added to an archived risk', async () => {
    const patch = patchOf((await write.risk({ status: 'archived' })).id);
    expect(await refusalText(patch({ status: 'identified' }))).toBe('409 INVALID_STATE_TRANSITION');
    expect(await refusalText(patch({ title: 'Still archived' }))).toBe('200 ');
  });
});

describe('the audit', () => {
  it('lists every change of the organisation, newest first, and no refused request', async () => {
    const risk = await write.risk();
    const stale = { key: owner.key, headers: { 'if-match': '"9"' }, body: { title: 'x' } };
    await service.api.send('PATCH', `/api/risks/${risk.id}`, stale);
    await write.change(`/api/risks/${risk.id}`, { title: 'y' });
    await write.remove(`/api/risks/${risk.id}`);
    const events = (await service.api.get('/api/audit?limit=3', owner.key)).json as Made[];
    expect(events.map(({ action, resourceId }) => [action, resourceId])).toEqual([
      ['risk.delete', risk.id],
      ['risk.update', risk.id],
      ['risk.create', risk.id],
    ]);
    expect(Object.keys(events[0]!)).toEqual(['id', 'at', 'actorId', 'action', 'resource', 'resourceId']);
    expect(events[0]!['actorId']).toBe(owner.id);
    const stranger = await service.newPerson(await service.newOrg(), ['owner']);
    const theirs = (await service.api.get('/api/audit', stranger.key)).json as Made[];
    expect(theirs.map(({ resource }) => resource)).toEqual(['apiKey', 'member', 'org']);
  });

  it('names an event that somebody wrote into the database, and shows those around it', async () => {
    const risk = await write.risk();
    await service.sql.query({
      text: `INSERT INTO risk.audit_events (id, at, actor, action, resource, resource_id, detail)
             SELECT 'evt_forged', now() - interval '1 second', $1, 'risk.close', 'risk', $2, json_build_object('orgId', org_id)
               FROM risk.people WHERE person_id = $1`,
      values: [owner.id, risk.id],
    });
    await write.remove(`/api/risks/${risk.id}`);
    const events = (await service.api.get('/api/audit?limit=200', owner.key)).json as Made[];
    const found = events.filter(({ resourceId }) => resourceId === risk.id);
    expect(found.map(({ action, problem }) => [action, problem]).sort()).toEqual([
      ['risk.close', 'no_mac'],
      ['risk.create', undefined],
      ['risk.delete', undefined],
    ]);
  });

  it.each([
    ['at the end of time', `'infinity'`, `'{"orgId":"x"}'`],
    ['with a detail that is no JSON', 'now()', `'{'`],
  ])('cannot be hidden by a row %s', async (_what, at, detail) => {
    const text = `INSERT INTO risk.audit_events (id, at, actor, action, resource, resource_id, detail)
                  VALUES ('evt_hiding', ${at}, 'a', 'b', 'c', 'd', ${detail})`;
    await expect(service.sql.query({ text })).rejects.toMatchObject({ code: expect.stringMatching(/^(23514|22P02)$/) });
  });

  it('has no table that a row at the end of time could make unreadable', async () => {
    expect(await unboundedTimes(service.sql, 'risk')).toEqual([]);
    const text = `UPDATE risk.resources SET doc = '{'`;
    await expect(service.sql.query({ text })).rejects.toMatchObject({ code: '22P02' });
  });

  it('continues after the last event of a page', async () => {
    const all = (await service.api.get('/api/audit?limit=200', owner.key)).json as Made[];
    const seen: string[] = [];
    let path: string | undefined = '/api/audit?limit=3';
    while (path !== undefined) {
      const { json, headers } = await service.api.get(path, owner.key);
      seen.push(...(json as Made[]).map(({ id }) => id));
      path = /<([^>]+)>/.exec(String(headers.link ?? ''))?.[1];
    }
    expect(seen).toEqual(all.map(({ id }) => id));
  });
});
