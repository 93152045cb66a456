import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rowsOf, type Made } from './testing/demo-rows.ts';
import { refusalText } from './testing/http-caller.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

const DAY_MS = 86_400_000;
const startMs = Date.now();
/** That many days before the start of this file. */
const ago = (days: number): string => new Date(startMs - days * DAY_MS).toISOString();
const rated = (likelihood: number, impact: number) => ({ likelihood, impact });

let service: TestInstallation;
let orgId: string;
let owner: TestPerson;
let auditor: TestPerson;
let viewer: TestPerson;
const ids = new Map<string, string>();

/** Does work as if it were that many days ago. */
async function on<Result>(days: number, work: () => Promise<Result>): Promise<Result> {
  service.skewMs = startMs - Date.now() - days * DAY_MS;
  try {
    return await work();
  } finally {
    service.skewMs = 0;
  }
}

const make = async (title: string, [likelihood, impact]: readonly [number, number], more = {}) => {
  const { id } = await rowsOf(service, owner).risk({ title, inherent: rated(likelihood, impact), ...more });
  ids.set(title, id);
};
const change = (title: string, body: object) =>
  rowsOf(service, owner).change(`/api/risks/${ids.get(title)!}`, body as Record<string, unknown>);

beforeAll(async () => {
  service = await testInstallation();
  orgId = await on(110, () => service.newOrg('Acme'));
  owner = await service.newPerson(orgId, ['owner']);
  auditor = await service.newPerson(orgId, ['auditor']);
  viewer = await service.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } });
  // Times of an organisation never run backwards, so the oldest come first.
  await on(100, async () => {
    await make('rose twice', [1, 4], { department: 'ops', category: 'legal' });
    await make('rose and fell back', [2, 2]);
    await make('fell', [5, 5]);
    await make('dipped', [4, 4]);
    await make('turned', [2, 3]);
    await make('hidden', [1, 1], { sensitive: true });
    await make('other', [1, 1], { department: 'legal' });
  });
  await on(60, async () => {
    await change('rose twice', { current: rated(3, 3) });
    await change('rose and fell back', { current: rated(5, 5) });
    await change('dipped', { current: rated(1, 1) });
    await change('turned', { current: rated(3, 2) });
  });
  await on(30, async () => {
    await change('rose twice', { current: rated(4, 5), title: 'rose twice' });
    await change('rose and fell back', { current: rated(2, 2) });
    await change('fell', { current: rated(1, 1) });
    await change('dipped', { current: rated(3, 3) });
    await change('hidden', { current: rated(5, 5) });
    await change('other', { current: rated(2, 2) });
    await make('new', [1, 1]);
  });
  await on(10, async () => {
    await change('rose twice', { description: 'Said more.' });
    await change('new', { current: rated(5, 5) });
  });
}, 120_000);
afterAll(() => service.stop());

const get = (path: string, { key }: TestPerson = owner) => service.api.get(path, key);
const worse = async (days: number, more = '', person?: TestPerson) => {
  const { json, headers } = await get(`/api/risks?worseSince=${ago(days)}${more}`, person);
  const titles = (json as Made[]).map(({ title }) => title);
  expect(headers['x-total-count']).toBe(String(titles.length));
  return titles;
};

describe('the list of risks that got worse', () => {
  it.each([
    // Nobody had a score before the risks were made.
    [200, []],
    [90, ['rose twice', 'hidden', 'other']],
    [45, ['rose twice', 'dipped', 'hidden', 'other']],
    [20, ['new']],
    [5, []],
  ])('since %d days ago has those whose score is higher than it was then', async (days, titles) => {
    expect((await worse(days)).sort()).toEqual([...titles].sort());
  });

  it('takes a change at that time as one since, and a risk made at that time as new', async () => {
    const made = (await get(`/api/risks/${ids.get('new')!}`)).json as Made;
    const [{ at }] = (await get(`/api/risks/${ids.get('new')!}/score-changes`)).json as [{ at: string }];
    const titlesSince = async (time: unknown) =>
      ((await get(`/api/risks?worseSince=${String(time)}`)).json as Made[]).map(({ title }) => title);
    expect(await titlesSince(at)).toEqual(['new']);
    expect(await titlesSince(new Date(Date.parse(at) + 1).toISOString())).toEqual([]);
    expect(await titlesSince(made['createdAt'])).not.toContain('new');
    expect(await titlesSince(new Date(Date.parse(String(made['createdAt'])) + 1).toISOString())).toContain('new');
  });

  it('tells what each was then, and until when', async () => {
    const first = async (query: string) => ((await get(`/api/risks?q=twice${query}`)).json as Made[])[0]!;
    const current = { likelihood: 4, impact: 5, score: 20, level: 'critical' };
    const [newest, oldest] = (await get(`/api/risks/${ids.get('rose twice')!}/score-changes`)).json as { at: string }[];
    expect(await first(`&worseSince=${ago(90)}`)).toMatchObject({
      current,
      previous: { likelihood: 1, impact: 4, score: 4, level: 'low', until: oldest?.at },
    });
    expect(await first(`&worseSince=${ago(45)}`)).toMatchObject({
      current,
      previous: { likelihood: 3, impact: 3, score: 9, level: 'medium', until: newest?.at },
    });
    expect(await first('')).not.toHaveProperty('previous');
    // Of the time of the risk's change.
    const afterMs = Date.parse(String(newest?.at)) - Date.parse(ago(30));
    expect(afterMs).toBeGreaterThanOrEqual(0);
    expect(afterMs).toBeLessThan(DAY_MS);
  });

  it('has the rows of the caller only', async () => {
    expect((await worse(90, '', auditor)).sort()).toEqual(['other', 'rose twice']);
    expect(await worse(90, '', viewer)).toEqual(['rose twice']);
  });

  it('goes with other filters, words, orders, pages and the export', async () => {
    expect(await worse(90, '&category=legal')).toEqual(['rose twice']);
    expect(await worse(90, '&level=low&q=oth')).toEqual(['other']);
    expect(await worse(45, '&sort=-currentScore')).toEqual(['hidden', 'rose twice', 'dipped', 'other']);
    const first = await get(`/api/risks?worseSince=${ago(45)}&sort=-currentScore&limit=3`);
    const next = /<([^>]+)>; rel="next"/.exec(String(first.headers['link']))![1]!;
    const second = await get(next);
    expect((second.json as Made[]).map(({ title, previous }) => [title, previous])).toMatchObject([
      ['other', { score: 1 }],
    ]);
    expect(await refusalText(get(next.replace(encodeURIComponent(ago(45)), encodeURIComponent(ago(44)))))).toBe(
      '400 INVALID_CURSOR /cursor',
    );
    const csv = (await get(`/api/risks/export?format=csv&worseSince=${ago(45)}&sort=-currentScore`, auditor)).text;
    const [header, ...rows] = csv.trimEnd().split('\r\n');
    expect(header).toMatch(
      /,version,previous\.likelihood,previous\.impact,previous\.score,previous\.level,previous\.until$/,
    );
    expect(rows).toEqual([
      expect.stringMatching(/,3,3,9,medium,[^,]+Z$/),
      expect.stringMatching(/,1,1,1,low,[^,]+Z$/),
      expect.stringMatching(/,1,1,1,low,[^,]+Z$/),
    ]);
    expect((await get('/api/risks/export?format=csv', auditor)).text.split('\r\n')[0]).toMatch(/,version$/);
  });

  it.each([
    ['/api/risks?worseSince=2026-13-01T00:00:00Z', '400 INVALID_REQUEST /worseSince'],
    ['/api/risks?worseSince=2026-01-01', '400 INVALID_REQUEST /worseSince'],
    ['/api/risks?worseSince=', '400 INVALID_REQUEST /worseSince'],
    ['/api/risks/export?format=csv&worseSince=yesterday', '400 INVALID_REQUEST /worseSince'],
    ['/api/assets?worseSince=2026-01-01T00:00:00Z', '400 UNKNOWN_PARAMETER /worseSince'],
    ['/api/v1/risks?worseSince=2026-01-01T00:00:00Z', '400 UNKNOWN_PARAMETER /worseSince'],
  ])('is refused for %s', async (path, refusal) => {
    expect(await refusalText(get(path))).toBe(refusal);
  });
});

describe('the score changes of a risk', () => {
  const changesOf = async (title: string) =>
    (await get(`/api/risks/${ids.get(title)!}/score-changes`)).json as { from: Made; to: Made; version: number }[];

  it('are each change of its current rating, newest first', async () => {
    const shown = (title: string) =>
      changesOf(title).then((all) => all.map(({ from, to, version }) => [from['score'], to['score'], version]));
    expect(await shown('rose twice')).toEqual([
      [9, 20, 3],
      [4, 9, 2],
    ]);
    expect(await changesOf('turned')).toMatchObject([
      { from: { likelihood: 2, impact: 3, level: 'medium' }, to: { likelihood: 3, impact: 2, level: 'medium' } },
    ]);
  });

  it('are none of a risk that was not rated anew', async () => {
    await make('quiet', [1, 1]);
    await change('quiet', { description: 'x', inherent: rated(2, 2) });
    expect(await changesOf('quiet')).toEqual([]);
  });

  it('are hidden with the risk', async () => {
    const path = `/api/risks/${ids.get('hidden')!}/score-changes`;
    expect((await get(path)).status).toBe(200);
    expect(await refusalText(get(path, auditor))).toBe('404 NOT_FOUND');
    expect(await refusalText(get('/api/risks/rsk_none/score-changes'))).toBe('404 NOT_FOUND');
    const partner = await service.newPerson(orgId, ['partner_read']);
    expect(await refusalText(get(path, partner))).toBe('403 FORBIDDEN');
  });

  it('are the newest 200 at most, and go with the risk', async () => {
    await make('often', [1, 1]);
    const path = `/api/risks/${ids.get('often')!}`;
    for (let at = 0; at < 203; at += 1) {
      const body = { current: rated(1 + (at % 2), 2) };
      await service.api.send('PATCH', path, { key: owner.key, headers: { 'if-match': '*' }, body });
    }
    const all = await changesOf('often');
    expect([all.length, all[0]?.version, all.at(-1)?.version]).toEqual([200, 204, 5]);
    const kept = { text: 'SELECT 1 FROM risk.score_changes WHERE risk_id = $1', values: [ids.get('often')] };
    expect(await service.sql.query(kept)).toHaveLength(200);
    await rowsOf(service, owner).remove(path);
    expect(await service.sql.query(kept)).toEqual([]);
  }, 60_000);
});
