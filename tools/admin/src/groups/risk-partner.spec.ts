import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { runLine, type Ran } from '../testing/run-line.ts';
import { standInApi, type StandInApi } from '../testing/stand-in-api.ts';

const ORG = { id: 'org_01', name: 'Acme', createdAt: '2030-01-02T03:04:05.678Z' };
const PERSON = {
  id: 'per_01',
  orgId: 'org_01',
  name: 'Ada',
  kind: 'human',
  roles: ['viewer'],
  scope: { departments: ['it', 'hr'], canReadSensitive: false, unrestricted: false },
  createdAt: '2030-01-02T03:04:05.678Z',
};
const FRAMEWORK = {
  id: 'fwk_01',
  name: 'House rules',
  version: '1',
  createdAt: '2030-01-02T03:04:05.678Z',
  requirements: [
    { id: 'H.1', title: 'Lock the door' },
    { id: 'H.2', title: 'Close the windows' },
  ],
};
const RAW_KEY = `svc_${'A'.repeat(43)}`;

let api: StandInApi;
let env: Record<string, string>;
let folder: string;
beforeAll(async () => {
  api = await standInApi();
  env = { SEALGATE_ADMIN_URL: api.url, SEALGATE_ADMIN_TOKEN: 't' };
  folder = mkdtempSync(join(tmpdir(), 'sealgate-admin-'));
});
afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => api.answer(() => ({ status: 201, body: PERSON })));

const run = (line: string): Promise<Ran> => runLine(line, { env });
const sent = () => {
  const { method, path, body } = api.seen[0]!;
  return { method, path, ...(body === '' ? {} : { body: JSON.parse(body) as unknown }) };
};

describe('lists', () => {
  it.each([
    ["orgs list --search 'acme ltd' --sort -name", '/admin/v1/orgs?q=acme+ltd&sort=-name'],
    ['orgs list --csv --sort name', '/admin/v1/orgs/export?sort=name&format=csv'],
    ['people list org_01 --csv --search ada', '/admin/v1/orgs/org_01/people/export?q=ada&format=csv'],
    ['people keys org_01 per_01 --csv', '/admin/v1/orgs/org_01/people/per_01/keys/export?format=csv'],
    [
      'people identities list org_01 per_01 --sort -expiresAt',
      '/admin/v1/orgs/org_01/people/per_01/identities?sort=-expiresAt',
    ],
    ['people identities unlinked --csv --sort email', '/admin/v1/identities/unlinked/export?sort=email&format=csv'],
    ['frameworks list org_01 --search iso', '/admin/v1/orgs/org_01/frameworks?q=iso'],
  ])('%s', async (line, path) => {
    api.answer(() => ({ status: 200, body: line.includes('--csv') ? 'id\r\n' : { items: [], nextCursor: null } }));
    expect((await run(line)).code).toBe(0);
    expect(sent()).toEqual({ method: 'GET', path });
  });
});

describe('orgs', () => {
  it.each([
    ["orgs create --name 'Acme'", { method: 'POST', path: '/admin/v1/orgs', body: { name: 'Acme' } }],
    ['orgs get org_01', { method: 'GET', path: '/admin/v1/orgs/org_01' }],
  ])('%s', async (line, wanted) => {
    api.answer(() => ({ status: 200, body: ORG }));
    const { code, out } = await run(line);
    expect(code).toBe(0);
    expect(out).toContain('name       Acme\n');
    expect(sent()).toEqual(wanted);
  });

  it('orgs list', async () => {
    api.answer(() => ({ status: 200, body: { items: [ORG], nextCursor: null } }));
    expect((await run('orgs list')).out).toMatch(/ORGANISATION +NAME +CREATED\norg_01 +Acme +2030/);
  });
});

describe('people', () => {
  const at = '/admin/v1/orgs/org_01/people';
  it.each<[string, object]>([
    ["people add org_01 --name 'Ada'", { method: 'POST', path: at, body: { name: 'Ada', kind: 'human' } }],
    [
      'people add org_01 --name P --machine --role partner_read',
      { method: 'POST', path: at, body: { name: 'P', kind: 'machine', roles: ['partner_read'] } },
    ],
    [
      'people add org_01 --name V --role viewer --role auditor --department it --sensitive',
      {
        method: 'POST',
        path: at,
        body: {
          name: 'V',
          kind: 'human',
          roles: ['viewer', 'auditor'],
          scope: { departments: ['it'], canReadSensitive: true },
        },
      },
    ],
    ['people get org_01 per_01', { method: 'GET', path: `${at}/per_01` }],
    [
      'people roles org_01 per_01 --role admin',
      { method: 'PUT', path: `${at}/per_01/roles`, body: { roles: ['admin'] } },
    ],
    ['people roles org_01 per_01 --no-roles', { method: 'PUT', path: `${at}/per_01/roles`, body: { roles: [] } }],
    [
      'people scope org_01 per_01 --unrestricted',
      {
        method: 'PUT',
        path: `${at}/per_01/scope`,
        body: { departments: [], unrestricted: true, canReadSensitive: false },
      },
    ],
  ])('%s', async (line, wanted) => {
    const { code, out } = await run(line);
    expect({ code, sent: sent() }).toEqual({ code: 0, sent: wanted });
    expect(out).toContain('own rows, and departments it, hr; sensitive ones only by role, or own ones');
  });

  it('people roles requires one of its options', async () => {
    expect((await run('people roles org_01 per_01')).code).toBe(2);
    expect((await run('people roles org_01 per_01 --role a --no-roles')).code).toBe(2);
    expect(api.seen).toEqual([]);
  });

  it('people remove asks for confirmation', async () => {
    expect((await run('people remove org_01 per_01')).code).toBe(2);
    expect(api.seen).toEqual([]);
    api.answer(() => ({ status: 204 }));
    const { code, out } = await run('people remove org_01 per_01 --yes');
    expect({ code, out, sent: sent() }).toEqual({
      code: 0,
      out: 'per_01 is removed: their keys are rejected from the next request on.\n',
      sent: { method: 'DELETE', path: `${at}/per_01` },
    });
  });

  it('people mint shows the raw key once', async () => {
    api.answer(() => ({
      status: 201,
      body: { id: 'key_01', rawKey: RAW_KEY, label: 'x', keyPrefix: 'svc_AAAAAAAA', createdAt: PERSON.createdAt },
    }));
    const { out } = await run('people mint org_01 per_01 --label x --replaces key_00 --overlap-seconds 60');
    expect(out.split(RAW_KEY)).toHaveLength(2);
    expect(sent()).toEqual({
      method: 'POST',
      path: `${at}/per_01/keys`,
      body: { label: 'x', replaces: 'key_00', overlapSeconds: 60 },
    });
  });
});

describe('frameworks', () => {
  beforeEach(() => api.answer(() => ({ status: 201, body: FRAMEWORK })));
  const base = "frameworks create org_01 --name 'House rules' --framework-version 1";

  it('reads requirements from options and from a file', async () => {
    const file = join(folder, 'rules.txt');
    writeFileSync(file, 'H.2 Close the windows\n\n  H.3   Feed the cat \n');
    const { code, out } = await run(`${base} --requirement 'H.1=Lock the door = always' --requirements ${file}`);
    expect(code).toBe(0);
    expect(out).toContain('H.1  Lock the door\nH.2  Close the windows\n');
    expect(sent()).toEqual({
      method: 'POST',
      path: '/admin/v1/orgs/org_01/frameworks',
      body: {
        name: 'House rules',
        version: '1',
        requirements: [
          { id: 'H.1', title: 'Lock the door = always' },
          { id: 'H.2', title: 'Close the windows' },
          { id: 'H.3', title: 'Feed the cat' },
        ],
      },
    });
  });

  it.each([base, `${base} --requirement =x`, `${base} --requirement x`, `${base} --requirements /no/such/file`])(
    'refuses %s',
    async (line) => {
      expect((await run(line)).code).toBe(2);
      expect(api.seen).toEqual([]);
    },
  );
});

describe('people identities', () => {
  const path = '/admin/v1/orgs/org_01/people/per_01/identities';
  const LINKED = {
    id: 'idn_01',
    issuer: 'https://login.example.com',
    subject: 'ada',
    email: null,
    createdAt: '2030-01-02T03:04:05.678Z',
    expiresAt: null,
  };

  it.each<[string, string, object]>([
    [
      'people identities link org_01 per_01 --issuer https://login.example.com --subject ada',
      'Linked.',
      { method: 'POST', path, body: { issuer: 'https://login.example.com', subject: 'ada' } },
    ],
    [
      'people identities invite org_01 per_01 --email ada@example.com',
      'Invited.',
      { method: 'POST', path, body: { email: 'ada@example.com' } },
    ],
  ])('%s', async (line, said, wanted) => {
    api.answer(() => ({ status: 201, body: LINKED }));
    const { code, out } = await run(line);
    expect({ code, sent: sent() }).toEqual({ code: 0, sent: wanted });
    expect(out).toMatch(new RegExp(`^${said}\n\n.*idn_01`, 's'));
  });

  it('people identities list', async () => {
    api.answer(() => ({ status: 200, body: { items: [LINKED], nextCursor: null } }));
    expect((await run('people identities list org_01 per_01')).out).toMatch(
      /IDENTITY +ISSUER +SUBJECT +INVITED.*\nidn_01 +https:\/\/login\.example\.com +ada/,
    );
    api.answer(() => ({ status: 200, body: { items: [], nextCursor: null } }));
    expect((await run('people identities list org_01 per_01')).out).toContain('this person cannot sign in');
  });

  it('people identities unlinked', async () => {
    const seen = { issuer: 'https://login.example.com', subject: '00u1', email: 'ada@example.com' };
    const row = { ...seen, emailVerified: true, lastSeenAt: '2030-01-02T03:04:05.678Z' };
    api.answer(() => ({ status: 200, body: { items: [row], nextCursor: null } }));
    expect((await run('people identities unlinked')).out).toMatch(
      /ISSUER +SUBJECT +EMAIL +VERIFIED +LAST SEEN\nhttps:\/\/login\.example\.com +00u1 +ada@example\.com/,
    );
    expect(sent()).toMatchObject({ method: 'GET', path: expect.stringMatching(/^\/admin\/v1\/identities\/unlinked/) });
    api.answer(() => ({ status: 200, body: { items: [], nextCursor: null } }));
    expect((await run('people identities unlinked')).out).toContain('Nobody without a link');
  });

  it('people identities unlink', async () => {
    api.answer(() => ({ status: 204 }));
    const { code, out } = await run('people identities unlink org_01 per_01 idn_01');
    expect({ code, out, sent: sent() }).toEqual({
      code: 0,
      out: 'idn_01 is removed: its tokens are rejected from the next request on.\n',
      sent: { method: 'DELETE', path: `${path}/idn_01` },
    });
  });

  it('require their options, and print help', async () => {
    for (const line of ['link org_01 per_01 --subject ada', 'invite org_01 per_01', 'unlink org_01 per_01', 'show'])
      expect((await run(`people identities ${line}`)).code).toBe(2);
    expect(api.seen).toEqual([]);
    expect((await run('people --help')).out).toMatch(/identities +Identities of a person at an identity provider/);
    expect((await run('people identities link --help')).out).toContain(
      'sealgate people identities link [options] <orgId>',
    );
  });

  it('print the reason of a rejected identity', async () => {
    api.answer(() => ({ status: 409, body: { code: 'ALREADY_EXISTS', detail: 'It is somebody else.' } }));
    const { code, err } = await run('people identities invite org_01 per_01 --email ada@example.com');
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('ALREADY_EXISTS') });
  });
});
