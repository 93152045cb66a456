import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { removeExpiredInvitations } from './data/people-store.ts';
import type { Made } from './testing/demo-rows.ts';
import { refusalText } from './testing/http-caller.ts';
import { NO_SCOPE, peopleSite } from './testing/people-site.ts';
import type { TestPerson } from './testing/test-installation.ts';

const DAY_MS = 86_400_000;

let site: Awaited<ReturnType<typeof peopleSite>>;
let members: Awaited<ReturnType<(typeof site)['newMembers']>>;
let owner: TestPerson;
let admin: TestPerson;
let auditor: TestPerson;

beforeAll(async () => {
  site = await peopleSite();
}, 120_000);
afterAll(() => site.stop());
beforeEach(async () => {
  members = await site.newMembers();
  ({ owner, admin, auditor } = members);
});
// The count of failed authentications drains as time goes on; the tests fail often.
afterEach(() => {
  site.service.skewMs += 120_000;
});

describe('an invitation', () => {
  it('is made, read, listed by pages, and deleted', async () => {
    const email = site.address();
    const body = { email: email.toUpperCase(), roles: ['viewer'], scope: { departments: ['ops'] } };
    const made = await site.send('POST', '/invitations', owner, body);
    const { id, link, expiresAt } = made.json as Made;
    expect(made.status).toBe(201);
    expect(Object.keys(made.json as Made)).toEqual(['id', 'link', 'expiresAt']);
    expect(made.headers.location).toBe(`/api/people/invitations/${id}`);
    expect(link).toBe(`https://console.example.com/risks/${members.orgId}/register`);
    const shown = {
      id,
      email,
      roles: ['viewer'],
      scope: { ...NO_SCOPE, departments: ['ops'] },
      invitedBy: owner.id,
      createdAt: new Date(Date.parse(String(expiresAt)) - 14 * DAY_MS).toISOString(),
      expiresAt,
      link,
    };
    expect(await site.read(`/invitations/${id}`, auditor)).toEqual(shown);
    const second = await site.invite({ email: site.address() }, admin);
    const first = await site.send('GET', '/invitations?limit=1', admin);
    expect(first.json).toEqual([shown]);
    const next = /<\/api\/people([^>]+)>; rel="next"/.exec(String(first.headers.link))![1]!;
    expect(await site.read(next, admin)).toMatchObject([{ id: second.id, roles: [], scope: NO_SCOPE }]);
    expect(await site.refusal('DELETE', `/invitations/${id}`, admin)).toBe('403 FORBIDDEN');
    expect((await site.send('DELETE', `/invitations/${id}`, owner)).status).toBe(204);
    expect(await site.refusal('DELETE', `/invitations/${id}`, owner)).toBe('404 NOT_FOUND');
    expect(await site.refusal('GET', `/invitations/${id}`, owner)).toBe('404 NOT_FOUND');
    expect((await site.signIn(email)).status).toBe(401);
    expect((await site.actions(owner)).slice(0, 3)).toEqual([
      ['invitation.delete', owner.id, id],
      ['invitation.create', admin.id, second.id],
      ['invitation.create', owner.id, id],
    ]);
  });

  it('makes a person at the first sign-in with the verified address, once', async () => {
    const email = site.address();
    const scope = { departments: ['ops'], canReadSensitive: false, unrestricted: false };
    const { id } = await site.invite({ email, roles: ['contributor'], scope }, owner);
    expect(await site.read('', owner)).toHaveLength(3);
    for (const claims of [{ email_verified: false }, { email_verified: undefined }, { email: site.address() }])
      expect((await site.signIn(email, { sub: 'thief', ...claims })).status).toBe(401);
    const both = await Promise.all(['erin', 'mallory'].map((sub) => site.signIn(email, { sub })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
    const { json, token } = both.find(({ status }) => status === 200)!;
    expect(json).toMatchObject({ orgId: members.orgId, roles: ['contributor'], scope, via: 'token' });
    const personId = String(json['personId']);
    // Told a moment later: it is written behind the answer.
    const lastSeenAt = null;
    const person = { id: personId, name: email, kind: 'human', roles: ['contributor'], scope };
    expect({ ...(await site.read(`/${personId}`, owner)), lastSeenAt }).toEqual({ ...person, lastSeenAt });
    expect(await site.read('/invitations', owner)).toEqual([]);
    expect(await site.refusal('DELETE', `/invitations/${id}`, owner)).toBe('404 NOT_FOUND');
    expect((await site.actions(owner)).slice(0, 3)).toEqual([
      ['member.create', personId, personId],
      ['invitation.accept', personId, id],
      ['invitation.create', owner.id, id],
    ]);
    // By their identity from now on, whatever the address.
    const later = await site.provider.token({ sub: both[0]!.status === 200 ? 'erin' : 'mallory' });
    expect((await site.service.api.get('/api/whoami', later)).json).toMatchObject({ personId });
    const identities = await site.service.admin('GET', `/orgs/${members.orgId}/people/${personId}/identities`);
    expect(identities.json).toMatchObject({ items: [{ issuer: site.provider.issuer, email, expiresAt: null }] });
    await site.send('DELETE', `/${personId}`, owner);
    expect((await site.service.api.get('/api/whoami', token)).status).toBe(401);
  });

  it('may come again after a removal, as another person', async () => {
    const email = site.address();
    await site.invite({ email, roles: ['viewer'] }, owner);
    const first = String((await site.signIn(email)).json['personId']);
    expect(await site.refusal('POST', '/invitations', owner, { email })).toBe('409 ALREADY_EXISTS /email');
    await site.send('DELETE', `/${first}`, owner);
    await site.invite({ email, roles: ['auditor'] }, owner);
    const again = await site.signIn(email);
    expect(again.json).toMatchObject({ roles: ['auditor'] });
    expect(again.json['personId']).not.toBe(first);
  });

  it('waits fourteen days', async () => {
    const email = site.address();
    const { id } = await site.invite({ email, roles: ['viewer'] }, owner);
    site.service.skewMs += 14 * DAY_MS + 1000;
    expect((await site.signIn(email)).status).toBe(401);
    expect(await site.read('/invitations', owner)).toEqual([]);
    expect(await site.refusal('GET', `/invitations/${id}`, owner)).toBe('404 NOT_FOUND');
    expect(await site.refusal('DELETE', `/invitations/${id}`, owner)).toBe('404 NOT_FOUND');
    expect((await site.invite({ email, roles: ['viewer'] }, owner)).id).not.toBe(id);
    expect((await site.signIn(email)).status).toBe(200);
  });

  it('leaves no address behind once it has expired', async () => {
    const [expired, waiting] = [site.address(), site.address()];
    await site.invite({ email: expired }, owner);
    site.service.skewMs += DAY_MS;
    await site.invite({ email: waiting }, owner);
    await removeExpiredInvitations(site.service.sql, Date.now() + site.service.skewMs + 13 * DAY_MS);
    const text = 'SELECT email FROM risk.invitations WHERE org_id = $1';
    expect(await site.service.sql.query({ text, values: [members.orgId] })).toEqual([{ email: waiting }]);
  });

  it('of one address waits once in an organisation, also under concurrency', async () => {
    const email = site.address();
    const tries = Array.from({ length: 4 }, () => site.refusal('POST', '/invitations', owner, { email }));
    expect((await Promise.all(tries)).sort()).toEqual(['201 ', ...Array<string>(3).fill('409 ALREADY_EXISTS /email')]);
    expect(await site.refusal('POST', '/invitations', admin, { email: email.toUpperCase() })).toBe(
      '409 ALREADY_EXISTS /email',
    );
    const elsewhere = await site.service.newPerson(await site.service.newOrg('Globex'), ['owner']);
    expect((await site.send('POST', '/invitations', elsewhere, { email })).status).toBe(201);
    // The first sign-in of somebody who belongs to none accepts both.
    expect(await refusalText(site.signIn(email))).toBe('400 INVALID_HEADER /X-Organization');
    const { token } = await site.signIn(email);
    expect((await site.service.api.get('/api/organizations', token)).json).toHaveLength(2);
  });

  it('of another organisation changes nothing for a member until they name it', async () => {
    const email = site.address();
    await site.invite({ email, roles: ['viewer'] }, owner);
    const { token, json: before } = await site.signIn(email);
    const otherOrg = await site.service.newOrg('A first name in lists');
    const elsewhere = await site.service.newPerson(otherOrg, ['owner']);
    await site.invite({ email, roles: ['viewer'] }, elsewhere);
    const ask = async (path: string, headers: Record<string, string> = {}) =>
      (await site.service.api.get(path, token, headers)).json as Made;
    // No request becomes ambiguous by what strangers do.
    expect((await site.signIn(email)).json).toEqual(before);
    const own = { id: members.orgId, name: 'Acme' };
    const inviting = { id: otherOrg, name: 'A first name in lists' };
    expect((await site.signIn(email)).json).toMatchObject({ organizations: [own] });
    expect((await site.service.api.get('/api/organizations', token)).json).toEqual([
      { ...own, member: expect.objectContaining({ personId: before['personId'] }) },
      { ...inviting, member: null },
    ]);
    expect((await site.read('/invitations', elsewhere)) as unknown as Made[]).toHaveLength(1);
    expect((await site.service.api.get('/api/whoami', token, { 'x-organization': otherOrg })).json).toMatchObject({
      orgId: otherOrg,
      roles: ['viewer'],
      organizations: [inviting, own],
    });
    expect(await site.read('/invitations', elsewhere)).toEqual([]);
    expect(await ask('/api/whoami', { 'x-organization': members.orgId })).toMatchObject({ orgId: members.orgId });
    expect(await refusalText(site.signIn(email))).toBe('400 INVALID_HEADER /X-Organization');
  });

  it('of an address that an operator invited is refused', async () => {
    const [email, viewer] = [site.address(), await site.service.newPerson(members.orgId, ['viewer'])];
    await site.service.admin('POST', `/orgs/${members.orgId}/people/${viewer.id}/identities`, { email });
    expect(await site.refusal('POST', '/invitations', owner, { email })).toBe('409 ALREADY_EXISTS /email');
    expect((await site.signIn(email)).json).toMatchObject({ personId: viewer.id });
  });

  it('does not make an identity a second person of an organisation', async () => {
    const [email, viewer] = [site.address(), await site.service.newPerson(members.orgId, ['viewer'])];
    const subject = `sub of ${email}`;
    await site.service.admin('POST', `/orgs/${members.orgId}/people/${viewer.id}/identities`, {
      issuer: site.provider.issuer,
      subject,
    });
    await site.invite({ email, roles: ['admin'] }, owner);
    expect((await site.signIn(email)).json).toMatchObject({ personId: viewer.id, roles: ['viewer'] });
    expect(await site.read('/invitations', owner)).toHaveLength(1);
    expect(await site.read('', owner)).toHaveLength(4);
  });

  it.each(['removed', 'demoted', 'demoted by an operator'])(
    'ends when its maker is %s, unless they could still make it',
    async (how) => {
      const second = await site.service.newPerson(members.orgId, ['owner']);
      const [asOwner, asViewer, others] = [
        await site.invite({ email: site.address(), roles: ['owner'] }, second),
        await site.invite({ email: site.address(), roles: ['viewer'] }, second),
        await site.invite({ email: site.address(), roles: ['owner'] }, owner),
      ];
      if (how === 'removed') await site.send('DELETE', `/${second.id}`, owner);
      else if (how === 'demoted') await site.send('PUT', `/${second.id}/roles`, owner, { roles: ['admin'] });
      else await site.service.admin('PUT', `/orgs/${members.orgId}/people/${second.id}/roles`, { roles: ['admin'] });
      const left = ((await site.read('/invitations', owner)) as unknown as Made[]).map(({ id }) => id);
      expect(left).toEqual(how === 'removed' ? [others.id] : [asViewer.id, others.id]);
      expect((await site.actions(owner)).filter(([action]) => action === 'invitation.delete')).toContainEqual([
        'invitation.delete',
        how === 'demoted by an operator' ? expect.stringMatching(/^admin:/) : owner.id,
        asOwner.id,
      ]);
    },
  );

  it('are at most a thousand in an organisation', async () => {
    const text = `INSERT INTO risk.invitations (invitation_id, org_id, email, roles, departments, unrestricted,
        can_read_sensitive, invited_by, created_at, expires_at)
      SELECT 'inv_' || n || $1, $1, n || '@limit.example', '{}', '{}', false, false, $2, $3, $4 FROM generate_series(1, 999) n`;
    const nowMs = Date.now() + site.service.skewMs;
    await site.service.sql.query({
      text,
      values: [members.orgId, owner.id, new Date(nowMs), new Date(nowMs + DAY_MS)],
    });
    await site.invite({ email: site.address() }, owner);
    expect(await site.refusal('POST', '/invitations', owner, { email: site.address() })).toBe('409 LIMIT_REACHED');
  });

  it('of another organisation is the same 404 as an unknown one', async () => {
    const stranger = await site.service.newPerson(await site.service.newOrg('Globex'), ['owner']);
    const { id } = await site.invite({ email: site.address() }, owner);
    for (const method of ['GET', 'DELETE']) {
      const ask = (one: string) => site.same(method, `/invitations/${one}`, stranger);
      expect(await ask(id)).toBe(await ask('inv_none'));
    }
    expect(await site.read(`/invitations/${id}`, owner)).toMatchObject({ id });
  });

  it.each([
    [{}],
    [{ roles: ['viewer'] }],
    [{ email: 'no address' }],
    [{ email: 'a@b@c' }],
    [{ email: `${'x'.repeat(250)}@example.com` }],
    [{ email: null }],
    [{ email: 'a@b.example', roles: ['king'] }],
    [{ email: 'a@b.example', scope: { rooms: [] } }],
    [{ email: 'a@b.example', name: 'A' }],
  ])('is refused for %j', async (body) => {
    expect(await site.refusal('POST', '/invitations', owner, body)).toMatch(/^400 INVALID_REQUEST/);
  });
});
