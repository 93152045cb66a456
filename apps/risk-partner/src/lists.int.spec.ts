import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rowsOf, type Made } from './testing/demo-rows.ts';
import { refusalText } from './testing/http-caller.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let orgId: string;
let owner: TestPerson;
let viewer: TestPerson;
let partner: TestPerson;

beforeAll(async () => {
  service = await testInstallation();
  orgId = await service.newOrg('Acme');
  owner = await service.newPerson(orgId, ['owner'], { name: 'Olga Œdegård' });
  viewer = await service.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } });
  partner = await service.newPerson(orgId, ['partner_read']);
  const write = rowsOf(service, owner);
  const rated = (likelihood: number, impact: number) => ({ inherent: { likelihood, impact } });
  await write.risk({ title: 'Zürich outage', refId: 'R-2', department: 'ops', ...rated(5, 5) });
  await write.risk({ title: 'supplier Breach', refId: 'R-10', nextReviewAt: '2031-01-01T00:00:00Z', ...rated(1, 1) });
  await write.risk({ title: 'Backup loss', nextReviewAt: '2030-01-01T00:00:00Z', department: 'ops', ...rated(5, 5) });
  await write.risk({ title: 'supplier outage 100%_', sensitive: true, department: 'ops', ...rated(2, 2) });
}, 120_000);
afterAll(() => service.stop());

const titlesOf = (rows: unknown) => (rows as { title: string }[]).map(({ title }) => title);
const list = async (path: string, { key }: TestPerson = owner) => {
  const { headers, json } = await service.api.get(path, key);
  return { total: headers['x-total-count'], titles: titlesOf(json) };
};
const nextOf = (link: unknown): string | undefined => /<([^>]+)>; rel="next"/.exec(String(link ?? ''))?.[1];

/** Every row of a list, page by page. */
async function walk(path: string, { key }: TestPerson = owner): Promise<Made[]> {
  const rows: Made[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const { status, headers, json, text } = await service.api.get(next, key);
    if (status !== 200) throw new Error(text);
    rows.push(...(json as Made[]));
    next = nextOf(headers['link']);
  }
  return rows;
}

describe('a search', () => {
  it.each([
    ['zurich', ['Zürich outage']],
    ['OUTAGE', ['Zürich outage', 'supplier outage 100%_']],
    ['sup bre', ['supplier Breach']],
    ['r-1', ['supplier Breach']],
    ['r-2 out', ['Zürich outage']],
    ['%_', ['supplier outage 100%_']],
    ['ü', ['Zürich outage', 'supplier Breach', 'Backup loss', 'supplier outage 100%_']],
    ['nothing', []],
  ])('for %s finds rows by parts of words', async (q, titles) => {
    const found = await list(`/api/risks?q=${encodeURIComponent(q)}`);
    expect(found).toEqual({ total: String(titles.length), titles });
    const { items } = (await service.api.get(`/api/v1/risks?q=${encodeURIComponent(q)}`, owner.key)).json as {
      items: unknown;
    };
    expect(titlesOf(items)).toEqual(titles);
  });

  it('finds a row by a part of its id', async () => {
    const id = String((await walk('/api/risks'))[0]?.id);
    expect((await list(`/api/risks?q=${id.slice(9)}`)).titles).toEqual(['Zürich outage']);
  });

  it('finds what the caller may see, and counts nothing else', async () => {
    expect(await list('/api/risks?q=outage', viewer)).toEqual({ total: '1', titles: ['Zürich outage'] });
    expect(await list('/api/risks', viewer)).toEqual({ total: '2', titles: ['Zürich outage', 'Backup loss'] });
  });
});

describe('a search of partners', () => {
  it('does not find a text by what is masked in it', async () => {
    const made = [await rowsOf(service, owner).control({ title: 'Harmless one' })];
    made.push(await rowsOf(service, owner).control({ title: 'Harmless two' }));
    // As a version with fewer rules wrote it.
    const text = `UPDATE risk.resources SET item = replace(item, 'Harmless', 'Ask ada@example.org'),
      folded = replace(folded, 'harmless', 'ask ada@example.org') WHERE id = $1`;
    await service.sql.query({ text, values: [made[0]!.id] });
    const foundBy = async (q: string) => {
      const { json } = await service.api.get(`/api/v1/controls?q=${q}`, partner.key);
      return (json as { items: { id: string; title: string | null }[] }).items.map(({ title }) => title);
    };
    expect(await foundBy('ada')).toEqual([]);
    expect(await foundBy(made[0]!.id)).toEqual([null]);
    expect(await foundBy('harmless')).toEqual(['Harmless two']);
  });
});

describe('an order', () => {
  it.each([
    ['title', ['Backup loss', 'supplier Breach', 'supplier outage 100%_', 'Zürich outage']],
    ['-title', ['Zürich outage', 'supplier outage 100%_', 'supplier Breach', 'Backup loss']],
    ['refId', ['supplier Breach', 'Zürich outage', 'Backup loss', 'supplier outage 100%_']],
    ['-refId', ['Zürich outage', 'supplier Breach', 'supplier outage 100%_', 'Backup loss']],
    ['currentScore', ['supplier Breach', 'supplier outage 100%_', 'Zürich outage', 'Backup loss']],
    ['-currentScore', ['Backup loss', 'Zürich outage', 'supplier outage 100%_', 'supplier Breach']],
    ['-nextReviewAt', ['supplier Breach', 'Backup loss', 'supplier outage 100%_', 'Zürich outage']],
    ['-createdAt', ['supplier outage 100%_', 'Backup loss', 'supplier Breach', 'Zürich outage']],
  ])('by %s has absent values last and equal ones by id, in pages of any size', async (sort, titles) => {
    for (const limit of [1, 3, 200])
      expect(titlesOf(await walk(`/api/risks?sort=${sort}&limit=${limit}`))).toEqual(titles);
  });

  it('holds for what a search found', async () => {
    expect(titlesOf(await walk('/api/risks?sort=-title&q=l&limit=1'))).toEqual([
      'supplier outage 100%_',
      'supplier Breach',
      'Backup loss',
    ]);
  });
});

describe('a list', () => {
  it('refuses what it does not know', async () => {
    const of = (query: string) => refusalText(service.api.get(`/api/risks?${query}`, owner.key));
    expect(await of('sort=colour')).toBe('400 INVALID_REQUEST /sort');
    expect(await of('q=')).toBe('400 INVALID_REQUEST /q');
    expect(await of(`q=${'x'.repeat(101)}`)).toBe('400 INVALID_REQUEST /q');
    expect(await of(`q=${encodeURIComponent('😀'.repeat(100))}`)).toBe('200 ');
    expect(await refusalText(service.api.get('/api/evidence?sort=currentScore', owner.key))).toBe(
      '400 INVALID_REQUEST /sort',
    );
    expect(await refusalText(service.api.get('/api/v1/risks?sort=title', owner.key))).toBe(
      '400 UNKNOWN_PARAMETER /sort',
    );
    expect(await refusalText(service.api.get('/api/v1/snapshots?q=x', owner.key))).toBe('400 UNKNOWN_PARAMETER /q');
  });

  it('repeats search, order and filters in the link, and binds the cursor to each', async () => {
    const path = '/api/risks?q=o&sort=-title&status=identified&limit=1';
    const next = nextOf((await service.api.get(path, owner.key)).headers['link'])!;
    expect(next).toMatch(/^\/api\/risks\?limit=1&q=o&sort=-title&status=identified&cursor=/);
    for (const [from, to] of [
      ['q=o', 'q=u'],
      ['sort=-title', 'sort=title'],
      ['&status=identified', ''],
      ['/risks', '/controls'],
    ] as const)
      expect([to, await refusalText(service.api.get(next.replace(from, to), owner.key))]).toEqual([
        to,
        '400 INVALID_CURSOR /cursor',
      ]);
    expect(await refusalText(service.api.get(next, viewer.key))).toBe('400 INVALID_CURSOR /cursor');
    const first = (await service.api.get('/api/v1/risks?q=o&limit=1', partner.key)).json as {
      pagination: { nextCursor: string };
    };
    const further = (q: string) =>
      refusalText(service.api.get(`/api/v1/risks?q=${q}&cursor=${first.pagination.nextCursor}`, partner.key));
    expect(await further('u')).toBe('400 INVALID_CURSOR /cursor');
  });
});

describe('the people of an organisation', () => {
  const namesOf = async (path: string) => {
    const rows = await walk(path);
    return rows.map(({ name }) => name);
  };

  it('are found by parts of their names, sorted and counted', async () => {
    expect(await namesOf('/api/people')).toEqual(['Olga Œdegård', 'The viewer', 'The partner_read']);
    expect(await namesOf('/api/people?sort=name&limit=1')).toEqual(['Olga Œdegård', 'The partner_read', 'The viewer']);
    expect(await namesOf('/api/people?sort=-createdAt&limit=2')).toEqual([
      'The partner_read',
      'The viewer',
      'Olga Œdegård',
    ]);
    expect(await namesOf('/api/people?q=GARD')).toEqual(['Olga Œdegård']);
    const { headers } = await service.api.get('/api/people?q=the&limit=1', owner.key);
    expect(headers['x-total-count']).toBe('2');
    expect(headers['link']).toMatch(/^<\/api\/people\?limit=1&q=the&cursor=/);
    expect(await refusalText(service.api.get('/api/people?sort=roles', owner.key))).toBe('400 INVALID_REQUEST /sort');
  });
});

describe('the audit', () => {
  const found = async (query: string) => {
    const { headers, json } = await service.api.get(`/api/audit?${query}`, owner.key);
    return [headers['x-total-count'], (json as Made[]).map(({ action }) => action)];
  };

  it('is filtered by actor, action, row and period', async () => {
    const [{ id, createdAt } = { id: '' }] = await walk('/api/risks');
    await rowsOf(service, owner).change(`/api/risks/${id}`, { category: 'changed' });
    expect(await found(`resourceId=${id}&resource=risk`)).toEqual(['2', ['risk.update', 'risk.create']]);
    expect(await found(`resourceId=${id}&action=risk.update&actorId=${owner.id}`)).toEqual(['1', ['risk.update']]);
    expect(await found(`actorId=${viewer.id}`)).toEqual(['0', []]);
    expect(await found(`resourceId=${id}&to=${String(createdAt)}`)).toEqual(['0', []]);
    expect(await found(`resourceId=${id}&from=2020-01-01T00:00:00Z&limit=1`)).toEqual(['2', ['risk.update']]);
    expect(await refusalText(service.api.get('/api/audit?from=soon', owner.key))).toBe('400 INVALID_REQUEST /from');
    const next = nextOf((await service.api.get('/api/audit?resource=risk&limit=1', owner.key)).headers['link'])!;
    expect(await refusalText(service.api.get(next.replace('risk', 'asset'), owner.key))).toBe(
      '400 INVALID_CURSOR /cursor',
    );
  });
});
