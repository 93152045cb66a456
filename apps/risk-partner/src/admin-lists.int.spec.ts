import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testIssuer } from '@sealgate/testing';
import type { Made } from './testing/demo-rows.ts';
import { refusalText } from './testing/http-caller.ts';
import { testInstallation, type TestInstallation } from './testing/test-installation.ts';

const AUDIENCE = 'https://risk.example.com';
const ADMIN_AUDIENCE = 'https://risk-admin.example.com';

let service: TestInstallation;
let provider: Awaited<ReturnType<typeof testIssuer>>;
let orgId: string;
let otherId: string;
/** Of the people of Acme, by name. */
const ids: Record<string, string> = {};

const people = (org = orgId) => `/orgs/${org}/people`;
const identities = () => `${people()}/${ids['Ärzte ohne Grenzen']}/identities`;
const keys = () => `${people()}/${ids['Ärzte ohne Grenzen']}/keys`;

beforeAll(async () => {
  provider = await testIssuer({ audience: AUDIENCE, now: () => Date.now() });
  service = await testInstallation({
    PUBLIC_URL: AUDIENCE,
    OIDC_ISSUERS: JSON.stringify([{ issuer: provider.issuer, audience: { api: [AUDIENCE], admin: [ADMIN_AUDIENCE] } }]),
    ADMIN_OIDC: JSON.stringify([{ claim: 'groups', value: 'lookers', role: 'viewer' }]),
  });
  orgId = await service.newOrg('Acme Zürich');
  otherId = await service.newOrg('=Globex');
  await service.newOrg('Beta 100%');
  const made = async (path: string, body: object) => (await service.admin('POST', path, body)).json as Made;
  for (const [name, kind] of [
    ['zoë', 'human'],
    ['Ärzte ohne Grenzen', 'machine'],
    ['Bob', 'human'],
  ])
    ids[name!] = (await made(people(), { name, kind })).id;
  await made(people(otherId), { name: 'Zoë of Globex', kind: 'human' });
  await made(identities(), { issuer: provider.issuer, subject: 'Ärztin' });
  await made(identities(), { email: 'Second@Example.com' });
  await made(keys(), { label: 'Zweite' });
  await made(keys(), { label: 'erste' });
  for (const [name, version] of [
    ['SOC 2', '2017'],
    ['ISO 27001', '2022'],
    ['ISO 27001', '2013'],
  ])
    await made(`/orgs/${orgId}/frameworks`, { name, version, requirements: [{ id: 'a', title: 'b' }] });
}, 120_000);
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

interface Page {
  readonly items: readonly Made[];
  readonly nextCursor: string | null;
  readonly total: number | string;
}
const list = async (path: string) => (await service.admin('GET', path)).json as Page;
const shown = async (path: string, member: string) => (await list(path)).items.map((row) => row[member]);
const refusal = (path: string) => refusalText(service.admin('GET', path));
const lines = async (path: string) => (await service.admin('GET', path)).text.trimEnd().split(/\r?\n/);

/** Each list: its path, a member of its rows, and the orders and words with what they show. */
const LISTS: readonly (readonly [
  path: () => string,
  member: string,
  fields: readonly string[],
  shows: Readonly<Record<string, readonly unknown[]>>,
])[] = [
  [
    () => '/orgs',
    'name',
    ['createdAt', 'name'],
    {
      '': ['Acme Zürich', '=Globex', 'Beta 100%'],
      'sort=name': ['=Globex', 'Acme Zürich', 'Beta 100%'],
      'sort=-name': ['Beta 100%', 'Acme Zürich', '=Globex'],
      'sort=-createdAt': ['Beta 100%', '=Globex', 'Acme Zürich'],
      'q=ZURICH': ['Acme Zürich'],
      'q=ric%20ac': ['Acme Zürich'],
      'q=100%25': ['Beta 100%'],
      'q=1__': [],
      'q=org_': ['Acme Zürich', '=Globex', 'Beta 100%'],
    },
  ],
  [
    people,
    'name',
    ['createdAt', 'name'],
    {
      '': ['zoë', 'Ärzte ohne Grenzen', 'Bob'],
      'sort=name': ['Ärzte ohne Grenzen', 'Bob', 'zoë'],
      'sort=-name': ['zoë', 'Bob', 'Ärzte ohne Grenzen'],
      'q=Zo': ['zoë'],
      'q=globex': [],
      'q=arz%20grenzen': ['Ärzte ohne Grenzen'],
    },
  ],
  [
    () => `/orgs/${orgId}/frameworks`,
    'version',
    ['createdAt', 'name'],
    {
      '': ['2017', '2022', '2013'],
      'sort=name': ['2022', '2013', '2017'],
      'sort=-name': ['2017', '2013', '2022'],
      'q=iso%202013': ['2013'],
      'q=fwk_&sort=-createdAt': ['2013', '2022', '2017'],
    },
  ],
  [
    identities,
    'email',
    ['createdAt', 'email', 'expiresAt'],
    {
      '': [null, 'second@example.com'],
      'sort=email': ['second@example.com', null],
      'sort=-email': ['second@example.com', null],
      'sort=-expiresAt': ['second@example.com', null],
      'q=ARZTIN': [null],
      'q=example.com%20second': ['second@example.com'],
    },
  ],
  [
    keys,
    'label',
    ['createdAt', 'label', 'endsAt', 'lastUsedAt'],
    {
      '': ['erste', 'Zweite'],
      'sort=label': ['Zweite', 'erste'],
      'sort=createdAt': ['Zweite', 'erste'],
      'q=zwei': ['Zweite'],
    },
  ],
];

describe.each(LISTS)('list %#', (path, member, fields, shows) => {
  it.each(Object.keys(shows))('of "%s" is found and sorted, with its total, also by pages', async (query) => {
    expect(await shown(`${path()}?${query}`, member)).toEqual(shows[query]);
    const paged: unknown[] = [];
    for (let cursor: string | null = '', turns = 0; cursor !== null && turns < 9; turns += 1) {
      const page: Page = await list(`${path()}?${query}&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
      expect(page.total).toBe(shows[query]!.length);
      paged.push(...page.items.map((row) => row[member]));
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(shows[query]);
  });

  it('is sorted by every field that is named, in both directions, and by no other', async () => {
    for (const field of fields) {
      for (const sort of [field, `-${field}`])
        expect(await shown(`${path()}?sort=${sort}`, member)).toHaveLength(shows['']!.length);
    }
    for (const sort of ['id', 'kind', '--name', ''])
      expect(await refusal(`${path()}?sort=${sort}`)).toBe('400 INVALID_REQUEST /sort');
  });

  it('refuses a cursor of other words or another order, and words that are too long', async () => {
    const { nextCursor: cursor } = await list(`${path()}?limit=1&sort=createdAt`);
    expect((await service.admin('GET', `${path()}?sort=createdAt&cursor=${cursor}`)).status).toBe(200);
    for (const query of ['sort=-createdAt', `sort=${fields[1]}`, 'sort=createdAt&q=a'])
      expect(await refusal(`${path()}?${query}&cursor=${cursor}`)).toMatch(/^400 INVALID_CURSOR/);
    expect(await refusal(`${path()}?q=${'a'.repeat(101)}`)).toBe('400 INVALID_REQUEST /q');
    expect(await refusal(`${path()}?q=`)).toBe('400 INVALID_REQUEST /q');
  });

  it('is exported in its order, as CSV and as JSON Lines, and recorded first', async () => {
    const query = Object.keys(shows).at(-1)!;
    const rows = (await list(`${path()}?${query}`)).items;
    const text = await lines(`${path()}/export?format=jsonl&${query}`);
    expect(text.map((line) => JSON.parse(line) as unknown)).toEqual(rows);
    const csv = await lines(`${path()}/export?format=csv&${query}`);
    expect(csv).toHaveLength(rows.length + 1);
    expect(csv[0]!.split(',')).toContain(member);
    const { items } = await list('/audit?action=list.export&limit=1');
    expect(items[0]).toMatchObject({ actor: expect.stringMatching(/^admin:/), detail: { format: 'csv' } });
    expect(await refusal(`${path()}/export`)).toBe('400 INVALID_REQUEST /format');
    expect(await refusal(`${path()}/export?format=csv&limit=1`)).toBe('400 UNKNOWN_PARAMETER /limit');
  });
});

describe('the lists of an organisation', () => {
  it('and their exports are 404 where there is none', async () => {
    for (const end of ['people', 'frameworks', 'people/per_none/identities', 'people/per_none/keys'])
      for (const path of [end, `${end}/export?format=csv`])
        expect(await refusal(`/orgs/org_none/${path}`)).toBe('404 NOT_FOUND');
  });

  it('leave out people who were removed', async () => {
    const { id } = await service.newPerson(otherId, ['viewer'], { name: 'Gone' });
    expect(await shown(`${people(otherId)}?q=gone`, 'name')).toEqual(['Gone']);
    await service.admin('DELETE', `${people(otherId)}/${id}`);
    expect(await list(`${people(otherId)}?q=gone`)).toEqual({ items: [], nextCursor: null, total: 0 });
    expect(await shown(people(otherId), 'name')).toEqual(['Zoë of Globex']);
  });

  it('are recorded with their organisation, whose owners see it', async () => {
    const owner = await service.newPerson(otherId, ['owner'], { name: 'Olga' });
    await service.admin('GET', `${people(otherId)}/export?format=csv&q=zoe`);
    const [event] = (await service.api.get('/api/audit?limit=1', owner.key)).json as Made[];
    expect(event).toMatchObject({ action: 'list.export', resource: 'person', resourceId: otherId });
    const { items } = await list('/audit?action=list.export&limit=1');
    expect(items[0]!['detail']).toEqual({ orgId: otherId, q: 'zoe', sort: 'createdAt', format: 'csv' });
  });
});

it('a text that a spreadsheet would run begins with an apostrophe', async () => {
  const csv = await lines('/orgs/export?format=csv&sort=name');
  expect(csv[0]).toBe('id,name,createdAt');
  expect(csv[1]).toMatch(/^org_[^,]*,'=Globex,2/);
});

describe('identities that belong to nobody', () => {
  it('are found, sorted, counted and exported, for operators', async () => {
    for (const [sub, email] of [
      ['unlinked-b', 'Zoe@example.com'],
      ['unlinked-a', undefined],
    ])
      await service.api.get('/api/whoami', await provider.token({ sub, email }));
    const found = () => list('/identities/unlinked?q=unlinked');
    while ((await found()).total !== 2) await new Promise((resolve) => setTimeout(resolve, 50));
    const subjects = (query: string) => shown(`/identities/unlinked?q=unlinked&${query}`, 'subject');
    expect(await subjects('sort=subject')).toEqual(['unlinked-a', 'unlinked-b']);
    expect(await subjects('sort=email')).toEqual(['unlinked-b', 'unlinked-a']);
    expect(await subjects('sort=lastSeenAt')).toEqual(['unlinked-b', 'unlinked-a']);
    expect(await shown('/identities/unlinked?q=ZOE', 'subject')).toEqual(['unlinked-b']);
    expect(await lines('/identities/unlinked/export?format=csv&q=zoe')).toEqual([
      'issuer,subject,email,emailVerified,lastSeenAt',
      expect.stringContaining(',unlinked-b,Zoe@example.com,false,'),
    ]);
    const { nextCursor: cursor } = await list('/identities/unlinked?limit=1&sort=subject');
    expect(await shown(`/identities/unlinked?sort=subject&cursor=${cursor}`, 'subject')).toEqual(['unlinked-b']);
    expect(await refusal('/identities/unlinked?sort=issuer')).toBe('400 INVALID_REQUEST /sort');
  });
});

it('an invitation that was accepted is found by its identity', async () => {
  const token = await provider.token({ sub: 'Accepted', email: 'second@example.com', email_verified: true });
  expect((await service.api.get('/api/whoami', token)).status).toBe(200);
  expect(await shown(`${identities()}?q=accepted%20second`, 'email')).toEqual(['second@example.com']);
});

it('a viewer reads lists, but exports none', async () => {
  const viewer = await provider.token({ aud: ADMIN_AUDIENCE, sub: 'vera', groups: ['lookers'] });
  for (const [path] of LISTS) {
    expect((await service.adminAs(viewer, 'GET', `${path()}?q=a&sort=-createdAt`)).status).toBe(200);
    expect(await refusalText(service.adminAs(viewer, 'GET', `${path()}/export?format=csv`))).toBe('403 FORBIDDEN');
  }
  expect(await refusalText(service.adminAs(viewer, 'GET', '/identities/unlinked/export?format=csv'))).toBe(
    '403 FORBIDDEN',
  );
});
